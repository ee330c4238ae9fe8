"""Whether a request may go now, and if not, why and for how long. No input or output.

Evenness is the generic cell rate algorithm (GCRA, ITU-T I.371): one moment per account says when the next request would be due
if all had come evenly, and a request may come so much earlier that a few fit together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

from gateway.problems import Problem

FAILURES: Final = 5
"""In a row, after which nobody asks for a while."""
_FIRST_PAUSE: Final = timedelta(seconds=30)
_LONGEST_PAUSE: Final = timedelta(minutes=10)
_BUSY: Final = timedelta(seconds=0.5)
"""Between two looks whether a request under way has ended."""
_COME_BACK: Final = timedelta(seconds=15)
"""For whoever found everything taken for as long as he could wait."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one account."""

    per_minute: int
    brand_per_minute: int | None
    together: int
    """So many may come at the same moment."""
    at_once: int
    """So many may be under way."""
    seconds: float
    """That one request takes at most."""
    raised_by: str = "brandctl providers connect"
    """What an operator raises them with."""

    @property
    def interval(self) -> timedelta:
        return timedelta(minutes=1) / self.per_minute


@dataclass(frozen=True, slots=True)
class Gate:
    """How an account stands, under its row lock."""

    next_at: datetime | None
    """None: it was never asked."""
    failures: int
    closed_until: datetime | None
    closed_why: str | None
    brand_next_at: datetime | None
    brands: int
    """That asked lately, this one included."""
    under_way: Mapping[str, int]
    """Requests by brand."""


@dataclass(frozen=True, slots=True)
class Go:
    """It may be sent now; what is to be written down."""

    next_at: datetime
    brand_next_at: datetime
    probe_until: datetime | None
    """It goes to see whether the provider is back: nobody else asks until then."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Not before so much time has passed; the problem is for whoever cannot wait."""

    time: timedelta
    problem: Problem


def decide(account: str, brand: str, gate: Gate, bounds: Bounds, now: datetime) -> Go | Wait:
    """Accounts are shared fairly: each brand that asked lately gets its part of them, and one alone all."""
    if gate.closed_until is not None and gate.closed_until > now:
        return _closed(account, gate, gate.closed_until - now)
    share = -(-bounds.at_once // gate.brands)
    if sum(gate.under_way.values()) >= bounds.at_once or gate.under_way.get(brand, 0) >= share:
        return Wait(_BUSY, _busy(account, bounds, "as many requests as it may have are under way"))
    brand_interval = bounds.interval * gate.brands
    if bounds.brand_per_minute is not None:
        brand_interval = max(brand_interval, timedelta(minutes=1) / bounds.brand_per_minute)
    due = _due(gate.next_at, bounds.interval, bounds.together, now)
    brand_due = _due(gate.brand_next_at, brand_interval, bounds.together, now)
    if (wait := max(due, brand_due) - now) > timedelta():
        return Wait(wait, _busy(account, bounds, "its requests of this minute are used up", wait))
    probing = gate.failures >= FAILURES
    return Go(
        next_at=max(gate.next_at or now, now) + bounds.interval,
        brand_next_at=max(gate.brand_next_at or now, now) + brand_interval,
        probe_until=now + timedelta(seconds=bounds.seconds) if probing else None,
    )


def _due(next_at: datetime | None, interval: timedelta, together: int, now: datetime) -> datetime:
    """When the next request may go."""
    return now if next_at is None else next_at - interval * (together - 1)


def pause_after(failures: int) -> timedelta | None:
    """How long nobody asks after so many failures in a row."""
    if failures < FAILURES:
        return None
    doublings: int = min(failures - FAILURES, 10)
    return min(_FIRST_PAUSE * (1 << doublings), _LONGEST_PAUSE)


def _closed(account: str, gate: Gate, wait: timedelta) -> Wait:
    if gate.failures >= FAILURES:
        problem = Problem(
            "provider.failing",
            f"{account} failed {gate.failures} times in a row, so nobody asks it for now ({gate.closed_why or 'it is away'})",
            HTTPStatus.SERVICE_UNAVAILABLE,
            transient=True,
            after=wait,
        )
    else:
        problem = Problem(
            "provider.limited",
            f"{account} asked us to wait{f' ({gate.closed_why})' if gate.closed_why else ''}",
            HTTPStatus.TOO_MANY_REQUESTS,
            transient=True,
            after=wait,
        )
    return Wait(wait, problem)


def _busy(account: str, bounds: Bounds, why: str, wait: timedelta = timedelta()) -> Problem:
    return Problem(
        "limit.reached",
        f"{account}: {why}; `{bounds.raised_by}` raises the limit",
        HTTPStatus.TOO_MANY_REQUESTS,
        transient=True,
        after=max(wait, _COME_BACK),
    )
