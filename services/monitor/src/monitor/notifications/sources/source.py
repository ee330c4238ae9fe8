"""What is looked at for something to tell of."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from monitor.notifications.domain import Condition


@dataclass(frozen=True, slots=True)
class NotificationSource:
    """Looked at every so often, by one replica.

    Args:
        name: as rows name it.
        every: how often.
        fetch_conditions: all that is so at the moment, and what has happened of late. Raises PassingError or UnusableAnswerError of
            chassis.http.client where nothing can be said: then what stood goes on standing.
        service: whose API it asks, in words; None: it reads this service's own database.
    """

    name: str
    every: timedelta
    fetch_conditions: Callable[[], Awaitable[Sequence[Condition]]]
    service: str | None = None
