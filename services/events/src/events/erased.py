"""The erased brands; events about one that happened before its erasure are dropped."""

from typing import Final

from envelope.brand import CATALOGUE
from envelope.brand.payloads import BrandErased
from messaging.erasure import ErasedBrands

ERASURES: Final = ErasedBrands("events")
TELLS_OF_ERASURES: Final = CATALOGUE.type_of(BrandErased).name
"""The type of events that stay, so that other systems learn of an erasure."""
