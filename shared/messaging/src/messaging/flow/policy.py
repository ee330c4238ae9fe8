"""How a queue is consumed: batch sizes, concurrency, deadlines, attempts and backoff."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_LONGEST_HELD: Final = 900.0
"""Seconds; half of RabbitMQ's `consumer_timeout`."""


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Settings of one queue. The defaults suit quick database work and a few slow calls side by side."""

    max_batch_size: int = 100
    """Messages per transaction at most."""
    max_batch_timeout: float = 0.0
    """Seconds to wait for a batch to fill. 0: a batch is what arrived while the last one ran."""
    max_concurrency: int = 8
    """Single handlers that run at a time."""
    handler_timeout: float = 60.0
    """Seconds an attempt may take; past it, the attempt has failed for a passing reason."""
    max_attempts: int | None = 5
    """Attempts before a message is dead-lettered; None: never."""
    backoff_base: float = 30.0
    """Seconds to the second attempt; doubled for each further one."""
    backoff_limit: float = 600.0
    """Seconds between attempts at most."""
    wait_base: float = 1.0
    """Seconds that a message waits when what it needs is away (`WaitFor`); doubled each time it comes in vain."""
    wait_limit: float = 30.0
    """Seconds between such looks at most, unless the other side asks for more."""
    prefetch: int | None = None
    """Unacknowledged deliveries held; None: what `held` says."""

    def __post_init__(self) -> None:
        if self.max_batch_size < 1 or self.max_concurrency < 1 or self.handler_timeout <= 0:
            raise ValueError("max_batch_size and max_concurrency are at least 1, handler_timeout above 0")

    def held(self, *, singly: bool) -> int:
        """Unacknowledged deliveries held, where all handlers of the queue are single ones (`singly`) or not.

        Three times what can be worked on at once. With single handlers a whole batch, if that is more: results that are
        ready together are committed together, and quick ones would wait for the broker's next few otherwise. But no more
        than are done in a quarter of an hour, should each take its whole time: after 30 minutes the broker takes back what
        a consumer holds.
        """
        if self.prefetch is not None:
            return self.prefetch
        if not singly:
            return 3 * self.max_batch_size
        in_time = int(_LONGEST_HELD / self.handler_timeout * self.max_concurrency)
        return max(3 * self.max_concurrency, min(self.max_batch_size, in_time))

    def backoff(self, attempt: int) -> timedelta:
        """The wait after attempt number `attempt` (1-based) has failed."""
        # Past 2^20 the limit has long been reached; the bound keeps a forged attempt header from overflowing.
        return timedelta(seconds=min(self.backoff_base * 2 ** min(attempt - 1, 20), self.backoff_limit))

    def wait(self, waits: int) -> timedelta:
        """The wait of a message that has already waited `waits` times for what it needs."""
        return timedelta(seconds=min(self.wait_base * 2 ** min(waits, 20), self.wait_limit))

    def exhausted(self, attempt: int) -> bool:
        return self.max_attempts is not None and attempt >= self.max_attempts
