"""Exceptions that a handler raises to decide its message's outcome, and those that the runtime raises."""

from datetime import timedelta
from typing import Final

import aio_pika

BROKER_ERRORS: Final = (*aio_pika.exceptions.CONNECTION_EXCEPTIONS, TimeoutError)
"""Exceptions from connecting to the broker and calling it: the client library's own list, and our time limits.

If a peer accepts a connection and closes it, that library raises `StopAsyncIteration`.
"""


class RetryLater(Exception):  # noqa: N818  (reads as what it asks for: `raise RetryLater(...)`)
    """The attempt failed for a passing reason; try again after `after`, or after the usual backoff."""

    def __init__(self, reason: str, *, after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = after


class WaitFor(RetryLater):
    """A dependency of the message is unavailable: the message returns later, and no attempt is counted.

    A `Dependency` raises it with growing pauses. If a handler raises it, the message returns after `after`, or after a pause that
    doubles each time.
    """

    def __init__(self, dependency: str, problem: str, *, after: timedelta | None = None) -> None:
        super().__init__(problem, after=after)
        self.dependency = dependency


class Unprocessable(Exception):  # noqa: N818  (as above)
    """No attempt can succeed: dead-letter the message at once. Say what is wrong and what to do about it."""


class CostReached(Unprocessable):
    """The next paid call may cost more than the chain of the message has left: dead-letter it with the reason `cost_reached`."""


class BrokerUnavailableError(Exception):
    """No confirmation from the broker in time; the publish may or may not have arrived."""


class QueueFullError(Exception):
    """A queue bound for the message refused it, full or down; other queues may have taken it."""


class UnroutableError(Exception):
    """The broker returned the message: no queue is bound for its exchange and routing key."""


class PublishRefusedError(Exception):
    """The broker does not let our user publish there: the user lacks a permission that its service needs."""
