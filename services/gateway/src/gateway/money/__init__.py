"""Money: prices, caps, what was spent."""

from gateway.money.domain import (
    ALL,
    MICROS,
    Caps,
    Charge,
    TokenPrice,
    dollars,
    micros,
)
from gateway.money.spending import Spending

__all__ = ["ALL", "MICROS", "Caps", "Charge", "Spending", "TokenPrice", "dollars", "micros"]
