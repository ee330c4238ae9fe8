"""Amounts, prices and caps. Every amount is a whole number of micro-dollars, rounded up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Final

MICROS: Final = 1_000_000
"""In a dollar."""
ALL: Final = "*"
"""The scope of all brands together; no brand can have this name."""
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
    """Formats micro-dollars as dollars, with at least two decimals: `1.50`, `0.000125`."""
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


class BudgetPeriod(StrEnum):
    DAY = "day"
    MONTH = "month"


def beginning(period: BudgetPeriod, day: date) -> date:
    match period:
        case BudgetPeriod.DAY:
            return day
        case BudgetPeriod.MONTH:
            return day.replace(day=1)


def following(period: BudgetPeriod, day: date) -> datetime:
    """When the next period begins."""
    begins = beginning(period, day)
    begins = (
        begins + timedelta(days=1) if period is BudgetPeriod.DAY else (begins + _OVER_A_MONTH).replace(day=1)
    )
    return datetime(begins.year, begins.month, begins.day, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SpendingCaps:
    """Caps of a scope; None is unlimited."""

    day: int | None
    month: int | None
    stopped: str | None = None
    """Why all spending is stopped; None: it is not."""

    def of(self, period: BudgetPeriod) -> int | None:
        match period:
            case BudgetPeriod.DAY:
                return self.day
            case BudgetPeriod.MONTH:
                return self.month


@dataclass(frozen=True, slots=True)
class Charge:
    """The maximum of one brand's call on one day in UTC."""

    brand: str
    day: date
    amount: int
    chain: str | None = None
    """The chain with a limit in which it counts, too."""

    @property
    def accounts(self) -> tuple[tuple[str, BudgetPeriod, date], ...]:
        """Every (scope, period, beginning) that it counts in, in locking order."""
        return tuple(
            (scope, period, beginning(period, self.day))
            for scope in sorted({ALL, self.brand})
            for period in (BudgetPeriod.DAY, BudgetPeriod.MONTH)
        )


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """Amounts spent and set aside in one scope and period."""

    spent: int
    reserved: int
    """Set aside for calls under way; most will cost less."""


@dataclass(frozen=True, slots=True)
class SpendingStopped:
    """An operator has stopped spending."""

    scope: str
    why: str


@dataclass(frozen=True, slots=True)
class BudgetExhausted:
    """The period's cap has too little left."""

    scope: str
    period: BudgetPeriod
    cap: int
    left: int
    next_begins: datetime


@dataclass(frozen=True, slots=True)
class BudgetReserved:
    """The cap may have enough left once the calls under way have ended."""

    scope: str
    period: BudgetPeriod


@dataclass(frozen=True, slots=True)
class BudgetTooSmall:
    """The cap is too small for this call in any period."""

    scope: str
    period: BudgetPeriod
    cap: int


@dataclass(frozen=True, slots=True)
class ChainCostReached:
    """The chain may cost too little for this call."""

    max_cost: int
    left: int


@dataclass(frozen=True, slots=True)
class ChainReserved:
    """The chain may have enough left once its calls under way have ended."""


def chain_refusal(amount: int, taken: BudgetUse, max_cost: int) -> ChainCostReached | ChainReserved | None:
    """Returns why a call of a chain with a limit is refused, or None. A call that costs nothing is never refused."""
    if amount and taken.spent + amount > max_cost:
        return ChainCostReached(max_cost, max(max_cost - taken.spent, 0))
    if amount and taken.spent + taken.reserved + amount > max_cost:
        return ChainReserved()
    return None


def refusal(
    charge: Charge,
    taken: Mapping[tuple[str, BudgetPeriod], BudgetUse],
    caps: Sequence[tuple[str, SpendingCaps]],
) -> SpendingStopped | BudgetExhausted | BudgetReserved | BudgetTooSmall | None:
    """Returns why a charge is refused, or None.

    Args:
        charge: the amount to set aside.
        taken: amounts spent and set aside so far, by scope and period.
        caps: of the brand and of all.
    """
    for scope, each in caps:
        if each.stopped is not None:
            return SpendingStopped(scope, each.stopped)
    limits = [
        (scope, period, cap, taken[scope, period])
        for scope, each in caps
        for period in BudgetPeriod
        if (cap := each.of(period)) is not None
    ]
    for scope, period, cap, _ in limits:
        if charge.amount > cap:
            return BudgetTooSmall(scope, period, cap)
    full = [
        BudgetExhausted(scope, period, cap, max(cap - so_far.spent, 0), following(period, charge.day))
        for scope, period, cap, so_far in limits
        if charge.amount and so_far.spent + charge.amount > cap
    ]
    # The last period to end: an earlier retry would fail.
    if full:
        return max(full, key=lambda each: each.next_begins)
    for scope, period, cap, so_far in limits:
        if charge.amount and so_far.spent + so_far.reserved + charge.amount > cap:
            return BudgetReserved(scope, period)
    return None
