"""The erased brands; messages about one that were sent before its erasure are dropped."""

from typing import Final

from envelope import EnvelopeHead
from messaging.erasure import ErasedBrands

ERASURES: Final = ErasedBrands("monitor")


def brand_of(head: EnvelopeHead | None) -> str | None:
    """The brand that a message's payload names; None if it names none."""
    brand = None if head is None else head.payload.get("brand_slug")
    return brand if isinstance(brand, str) else None
