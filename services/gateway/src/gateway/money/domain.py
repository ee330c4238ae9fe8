"""Amounts, prices and caps. Every amount is a whole number of micro-dollars; nothing here is ever rounded down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Final

MICROS: Final = 1_000_000
"""In a dollar."""
ALL: Final = "*"
"""The scope of all brands together; no brand can be called so."""
_OVER_A_MONTH: Final = timedelta(days=31)


def micros(amount: Decimal) -> int:
    """Dollars as micro-dollars, rounded up.

    Raises:
        ValueError: the amount is negative or no number.
    """
    if not amount.is_finite() or amount < 0:
        raise ValueError("must be an amount of dollars such as 2.50, and not negative")
    return int((amount * MICROS).to_integral_value(ROUND_CEILING))


def dollars(amount: int) -> str:
    """As people read it, with no less than cents: `1.50`, `0.000125`."""
    whole, part = divmod(amount, MICROS)
    digits = f"{part:06d}"
    return f"{whole}.{digits[:2]}{digits[2:].rstrip('0')}"


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """Micro-dollars for a million tokens that are read, and for a million that are written."""

    read: int
    written: int

    def of(self, read: int, written: int) -> int:
        return -(-(read * self.read + written * self.written) // 1_000_000)


class Period(StrEnum):
    DAY = "day"
    MONTH = "month"


def beginning(period: Period, day: date) -> date:
    match period:
        case Period.DAY:
            return day
        case Period.MONTH:
            return day.replace(day=1)


def following(period: Period, day: date) -> datetime:
    """When the period after the one that the day is in begins."""
    begins = beginning(period, day)
    begins = begins + timedelta(days=1) if period is Period.DAY else (begins + _OVER_A_MONTH).replace(day=1)
    return datetime(begins.year, begins.month, begins.day, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be spent in a scope; None is without end."""

    day: int | None
    month: int | None
    stopped: str | None = None
    """Why nothing may be spent at all, if so."""

    def of(self, period: Period) -> int | None:
        match period:
            case Period.DAY:
                return self.day
            case Period.MONTH:
                return self.month


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount set aside for one brand's call on one day of UTC."""

    brand: str
    day: date
    amount: int

    @property
    def accounts(self) -> tuple[tuple[str, Period, date], ...]:
        """Every (scope, period, beginning) that it counts in, in the order in which they are locked."""
        return tuple(
            (scope, period, beginning(period, self.day))
            for scope in sorted({ALL, self.brand})
            for period in (Period.DAY, Period.MONTH)
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """Of one account."""

    spent: int
    reserved: int
    """Set aside for calls under way; most of them will cost less."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The kill switch is on."""

    scope: str
    why: str


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A cap has no room for it in this period."""

    scope: str
    period: Period
    cap: int
    left: int
    next_begins: datetime


@dataclass(frozen=True, slots=True)
class SetAside:
    """A cap may have room for it once the calls under way have ended."""

    scope: str
    period: Period


@dataclass(frozen=True, slots=True)
class TooLarge:
    """A cap would have no room for it in any period."""

    scope: str
    period: Period
    cap: int


def refusal(
    charge: Charge, taken: Mapping[tuple[str, Period], Taken], caps: Sequence[tuple[str, Caps]]
) -> Stopped | Exhausted | SetAside | TooLarge | None:
    """Why a charge may not be made, or None.

    Args:
        charge: what is to be set aside.
        taken: what is spent and set aside so far, by scope and period.
        caps: of the brand and of all.
    """
    for scope, each in caps:
        if each.stopped is not None:
            return Stopped(scope, each.stopped)
    limits = [
        (scope, period, cap, taken[scope, period])
        for scope, each in caps
        for period in Period
        if (cap := each.of(period)) is not None
    ]
    for scope, period, cap, _ in limits:
        if charge.amount > cap:
            return TooLarge(scope, period, cap)
    full = [
        Exhausted(scope, period, cap, max(cap - so_far.spent, 0), following(period, charge.day))
        for scope, period, cap, so_far in limits
        if charge.amount and so_far.spent + charge.amount > cap
    ]
    # The last to have room again: before that, asking is in vain.
    if full:
        return max(full, key=lambda each: each.next_begins)
    for scope, period, cap, so_far in limits:
        if charge.amount and so_far.spent + so_far.reserved + charge.amount > cap:
            return SetAside(scope, period)
    return None
