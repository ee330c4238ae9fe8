"""Decides whether a request may go now; if not, why and how long to wait. No input or output.

The rate follows the generic cell rate algorithm (GCRA, ITU-T I.371). One moment per account says when the next evenly
spaced request is due; a request may be early by a few intervals, which allows small bursts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

from gateway.problems import CallProblem

FAILURES: Final = 5
"""After this many failures in a row, requests pause."""
_FIRST_PAUSE: Final = timedelta(seconds=30)
_LONGEST_PAUSE: Final = timedelta(minutes=10)
_BUSY: Final = timedelta(seconds=0.5)
"""Pause between looks at requests under way."""
_COME_BACK: Final = timedelta(seconds=15)
"""Suggested retry delay when all places are taken."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Limits of one account."""

    per_minute: int
    brand_per_minute: int | None
    together: int
    """Size of a burst."""
    at_once: int
    """Concurrent requests."""
    seconds: float
    """Time limit of one request."""
    raised_by: str = "brandctl providers connect"
    """The command with which an operator raises them."""

    @property
    def interval(self) -> timedelta:
        return timedelta(minutes=1) / self.per_minute


@dataclass(frozen=True, slots=True)
class GateState:
    """An account's counters, under its row lock."""

    next_at: datetime | None
    """None: the account had no request yet."""
    failures: int
    closed_until: datetime | None
    closed_why: str | None
    brand_next_at: datetime | None
    brands: int
    """Brands with recent requests, this one included."""
    under_way: Mapping[str, int]
    """Requests by brand."""


@dataclass(frozen=True, slots=True)
class Permit:
    """The request may be sent now; the fields are to be stored."""

    next_at: datetime
    brand_next_at: datetime
    probe_until: datetime | None
    """Set for a probe after failures: no other request goes before then."""


@dataclass(frozen=True, slots=True)
class PermitDelay:
    """The request must wait; `problem` is for callers that cannot."""

    time: timedelta
    problem: CallProblem


def decide(
    account: str, brand: str, gate: GateState, bounds: RateLimits, now: datetime
) -> Permit | PermitDelay:
    """Admits or delays a request. Brands with recent requests share an account equally; a single brand gets all of it."""
    if gate.closed_until is not None and gate.closed_until > now:
        return _closed(account, gate, gate.closed_until - now)
    share = -(-bounds.at_once // gate.brands)
    if sum(gate.under_way.values()) >= bounds.at_once or gate.under_way.get(brand, 0) >= share:
        return PermitDelay(_BUSY, _busy(account, bounds, "as many requests as it may have are under way"))
    brand_interval = bounds.interval * gate.brands
    if bounds.brand_per_minute is not None:
        brand_interval = max(brand_interval, timedelta(minutes=1) / bounds.brand_per_minute)
    due = _due(gate.next_at, bounds.interval, bounds.together, now)
    brand_due = _due(gate.brand_next_at, brand_interval, bounds.together, now)
    if (wait := max(due, brand_due) - now) > timedelta():
        return PermitDelay(wait, _busy(account, bounds, "its requests of this minute are used up", wait))
    probing = gate.failures >= FAILURES
    return Permit(
        next_at=max(gate.next_at or now, now) + bounds.interval,
        brand_next_at=max(gate.brand_next_at or now, now) + brand_interval,
        probe_until=now + timedelta(seconds=bounds.seconds) if probing else None,
    )


def _due(next_at: datetime | None, interval: timedelta, together: int, now: datetime) -> datetime:
    """When the next request is due."""
    return now if next_at is None else next_at - interval * (together - 1)


def pause_after(failures: int) -> timedelta | None:
    """The pause after this many failures in a row; None: no pause."""
    if failures < FAILURES:
        return None
    doublings: int = min(failures - FAILURES, 10)
    return min(_FIRST_PAUSE * (1 << doublings), _LONGEST_PAUSE)


def _closed(account: str, gate: GateState, wait: timedelta) -> PermitDelay:
    if gate.failures >= FAILURES:
        problem = CallProblem(
            "provider.failing",
            f"{account} failed {gate.failures} times in a row, so requests to it pause ({gate.closed_why or 'it is away'})",
            HTTPStatus.SERVICE_UNAVAILABLE,
            transient=True,
            after=wait,
        )
    else:
        problem = CallProblem(
            "provider.limited",
            f"{account} wants a pause{f' ({gate.closed_why})' if gate.closed_why else ''}",
            HTTPStatus.TOO_MANY_REQUESTS,
            transient=True,
            after=wait,
        )
    return PermitDelay(wait, problem)


def _busy(account: str, bounds: RateLimits, why: str, wait: timedelta = timedelta()) -> CallProblem:
    return CallProblem(
        "limit.reached",
        f"{account}: {why}; `{bounds.raised_by}` raises the limit",
        HTTPStatus.TOO_MANY_REQUESTS,
        transient=True,
        after=max(wait, _COME_BACK),
    )
