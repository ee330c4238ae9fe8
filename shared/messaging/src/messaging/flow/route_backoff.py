"""Pauses routes (exchange and routing key) on which a full queue refuses messages; the pauses grow.

If one queue is full, the broker refuses a message although other queues have taken it. Each new attempt would give those another copy.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog

from messaging.errors import QueueFullError
from messaging.storage.outbox import OutboxRow

log = structlog.get_logger(__name__)

LONGEST_REST: Final = 60.0
_PROBE_SECONDS: Final = 2.0
"""How long other messages of a route wait for the outcome of its probe."""

_Route = tuple[str, str]


@dataclass(slots=True)
class _RoutePause:
    pause: float
    until: float
    probing: bool = False


class RouteBackoff:
    """The paused routes of one relay."""

    def __init__(self) -> None:
        self._resting: dict[_Route, _RoutePause] = {}

    def rest_of(self, row: OutboxRow) -> timedelta | None:
        """The remaining pause of the row's route; None if the row may be published, normally or as a probe."""
        rest = self._resting.get((row.exchange, row.routing_key))
        if rest is None:
            return None
        left = rest.until - _now()
        if left > 0:
            return timedelta(seconds=left)
        rest.until += _PROBE_SECONDS - left
        rest.probing = True
        return None

    def note(self, rows: Sequence[OutboxRow], outcomes: Sequence[Exception | None]) -> None:
        """Starts and ends pauses, by the outcomes of the rows."""
        full: set[_Route] = set()
        taken: set[_Route] = set()
        for row, outcome in zip(rows, outcomes, strict=True):
            if outcome is None:
                taken.add((row.exchange, row.routing_key))
            elif isinstance(outcome, QueueFullError):
                full.add((row.exchange, row.routing_key))
        for route in taken - full:
            self._resting.pop(route, None)
        for route in full:
            self._refused(route)

    def _refused(self, route: _Route) -> None:
        rest = self._resting.get(route)
        if rest is not None and not rest.probing:
            return  # sent before the first of them came back
        pause = 1.0 if rest is None else min(rest.pause * 2, LONGEST_REST)
        self._resting[route] = _RoutePause(pause, _now() + pause)
        log.error(
            "queue_full",
            exchange=route[0],
            routing_key=route[1],
            hint="a queue bound there refuses messages: full (x-overflow=reject-publish) or down",
            retry_seconds=pause,
        )


def _now() -> float:
    return asyncio.get_running_loop().time()
