"""Money: prices, caps, what was spent."""

from gateway.money.domain import (
    ALL,
    MICROS,
    Charge,
    SpendingCaps,
    TokenPrice,
    dollars,
    micros,
)
from gateway.money.spending import SpendingControl

__all__ = ["ALL", "MICROS", "Charge", "SpendingCaps", "SpendingControl", "TokenPrice", "dollars", "micros"]
