"""The erased brands; messages about one that were sent before its erasure are dropped."""

from collections.abc import Mapping
from typing import Any, Final

from envelope import DeadLetterEdited, EnvelopeHead
from envelope.brand import CATALOGUE
from messaging.erasure import ErasedBrands

ERASURES: Final = ErasedBrands("monitor")
_EDITED: Final = CATALOGUE.type_of(DeadLetterEdited).name
"""Its payload has that of an edited message."""


def brand_of(head: EnvelopeHead | None) -> str | None:
    """The brand that a message's payload names; None if it names none."""
    if head is None:
        return None
    content = head.payload.get("content") if head.type == _EDITED else None
    return brand_in(content if isinstance(content, dict) else head.payload)


def brand_in(payload: Mapping[str, Any]) -> str | None:
    """The brand that a payload names; None if it names none."""
    brand = payload.get("brand_slug")
    return brand if isinstance(brand, str) else None
