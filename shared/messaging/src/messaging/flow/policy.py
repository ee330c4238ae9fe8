"""The policy of a queue: batch sizes, concurrency, deadlines, attempts and backoff."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_LONGEST_HELD: Final = 1500.0
"""Seconds; RabbitMQ's `consumer_timeout` is 1,800. The rest is for the transactions of the results."""


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """The policy of one queue. The defaults suit quick database work and a few slow calls side by side."""

    max_batch_size: int = 100
    """Messages per transaction at most."""
    max_batch_timeout: float = 0.0
    """Seconds to wait for a batch to fill. 0: a batch is what arrived while the last one ran."""
    max_concurrency: int = 8
    """Single handlers that run at a time."""
    handler_timeout: float = 60.0
    """Seconds per attempt; a longer attempt fails and is retried."""
    max_attempts: int | None = 5
    """Attempts before a message is dead-lettered; None: never."""
    backoff_base: float = 30.0
    """Seconds to the second attempt; doubled for each further one."""
    backoff_limit: float = 600.0
    """Seconds between attempts at most."""
    wait_base: float = 1.0
    """Seconds that a message waits for an unavailable dependency (`WaitFor`); doubled each time."""
    wait_limit: float = 30.0
    """Seconds of such a wait at most, unless the dependency asks for more."""
    prefetch: int | None = None
    """Unacknowledged deliveries at most; None: the result of `held`."""

    def __post_init__(self) -> None:
        if self.max_batch_size < 1 or self.max_concurrency < 1 or self.handler_timeout <= 0:
            raise ValueError("max_batch_size and max_concurrency are at least 1, handler_timeout above 0")

    def held(self, *, singly: bool) -> int:
        """Unacknowledged deliveries at most; `singly` says that all handlers of the queue are single ones.

        Three times the number of messages in work at once. For single handlers two batches, if that is more: results that are ready at the
        same time are committed together, and while one batch is committed, quick handlers work on the next. But no more than finish within 25
        minutes if each takes `handler_timeout`: the broker takes deliveries back after 30 minutes.
        """
        if self.prefetch is not None:
            return self.prefetch
        if not singly:
            return 3 * self.max_batch_size
        in_time = int(_LONGEST_HELD / self.handler_timeout * self.max_concurrency)
        return max(3 * self.max_concurrency, min(2 * self.max_batch_size, in_time))

    def backoff(self, attempt: int) -> timedelta:
        """The wait after attempt number `attempt` (from 1) has failed."""
        # Past 2^20 the limit has long been reached; the bound keeps a forged attempt header from overflowing.
        return timedelta(seconds=min(self.backoff_base * 2 ** min(attempt - 1, 20), self.backoff_limit))

    def wait(self, waits: int) -> timedelta:
        """The wait of a message that has already waited `waits` times for a dependency."""
        return timedelta(seconds=min(self.wait_base * 2 ** min(waits, 20), self.wait_limit))

    def exhausted(self, attempt: int) -> bool:
        return self.max_attempts is not None and attempt >= self.max_attempts
