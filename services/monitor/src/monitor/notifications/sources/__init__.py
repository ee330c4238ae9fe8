"""Notification sources: each reports the current conditions and recent events of one place."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from monitor.notifications.domain import Condition


@dataclass(frozen=True, slots=True)
class NotificationSource:
    """A place that one replica polls at an interval.

    Args:
        name: its name in the table.
        every: the interval.
        fetch_conditions: returns the current conditions and recent events. Raises PassingError or UnusableAnswerError of
            chassis.http.client if they are unknown; open notifications then stay open.
        service: name of the service that it calls; None: it reads the monitor's own database.
    """

    name: str
    every: timedelta
    fetch_conditions: Callable[[], Awaitable[Sequence[Condition]]]
    service: str | None = None
