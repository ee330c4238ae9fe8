"""Which brands were erased: what was sent about one before that and comes late is dropped."""

from typing import Final

from envelope import EnvelopeHead
from messaging.erasure import ErasedBrands

ERASURES: Final = ErasedBrands("monitor")


def brand_of(head: EnvelopeHead | None) -> str | None:
    """The brand that a message says it is about."""
    brand = None if head is None else head.payload.get("brand_slug")
    return brand if isinstance(brand, str) else None
