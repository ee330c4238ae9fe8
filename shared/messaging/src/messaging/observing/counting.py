"""Counts messages as plain numbers; `messaging.metrics` publishes them.

The event loop is the only writer and reader, so no code here takes a lock. Per-message figures are counted a batch at a time, so that
counting does not slow a queue down.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Final

from envelope import Message
from messaging.errors import BrokerUnavailableError, PublishRefusedError, QueueFullError, UnroutableError
from messaging.storage.outbox import OutboxRow

SIZES: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Bounds for numbers of messages."""
SECONDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 1800.0),
)
"""Histogram bounds in seconds, from the quickest batch to the last of several retries."""
SEVERAL: Final = "several"
"""Replaces the type if one call of a handler took messages of several types."""
UNKNOWN: Final = "unknown"
"""Replaces types that no handler takes: strangers choose them, without end."""
SAMPLED: Final = 20
"""Messages of a batch whose age is measured, at most: reading a time costs as much as all the counting."""

UNROUTABLE: Final = "unroutable"
UNAVAILABLE: Final = "unavailable"
REFUSED: Final = "refused"
UNSENDABLE: Final = "unsendable"
FULL: Final = "full"
PUBLISH_FAILURES: Final = (UNROUTABLE, UNAVAILABLE, REFUSED, UNSENDABLE, FULL)


class Histogram:
    """Counts values by upper bound."""

    __slots__ = ("_counts", "_largest", "bounds", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self._largest = 0.0

    def add(self, values: Collection[float], each: int = 1) -> None:
        """Adds values, each `each` times; values below 0 count as 0."""
        for value in values:
            positive = max(value, 0.0)
            self._counts[bisect_left(self.bounds, positive)] += each
            self.total += positive * each
            self._largest = max(self._largest, positive)

    @property
    def counts(self) -> tuple[int, ...]:
        """Per bound, the number of values up to it and above the bound before; last, those above all bounds."""
        return tuple(self._counts)

    def take_largest(self) -> float:
        """Returns the largest value since the last call; 0 if there is none."""
        found, self._largest = self._largest, 0.0
        return found

    def cumulated(self) -> list[int]:
        """Per bound, the number of values up to it; last, the number of all values."""
        return list(accumulate(self._counts))


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds; None: nothing was measured. `p50` and `p95` are upper bounds, out of `SECONDS`, or `longest` if that is less."""

    count: int
    p50: float | None
    p95: float | None
    longest: float | None


def durations(counts: Sequence[int], longest: float) -> Durations:
    """Reads a histogram whose bounds are `SECONDS`."""
    total = sum(counts)
    if not total:
        return Durations(0, None, None, None)
    return Durations(
        total, _quantile(counts, total, 0.5, longest), _quantile(counts, total, 0.95, longest), longest
    )


def _quantile(counts: Sequence[int], total: int, share: float, longest: float) -> float:
    """The upper bound of the bucket in which the share of all values is reached."""
    reached = 0
    for bound, count in zip(SECONDS, counts, strict=False):
        reached += count
        if reached >= share * total:
            return min(bound, longest)
    return longest


def _durations() -> defaultdict[str, Histogram]:
    return defaultdict(lambda: Histogram(SECONDS))


class QueueCounts:
    """Outcomes of a queue's messages since the start of the process.

    Only types that the queue's handlers take are counted, and so few: a message of any other is dead-lettered at once.
    """

    def __init__(self) -> None:
        self.processed: Counter[str] = Counter()
        """By type: messages with committed effects."""
        self.duplicates = 0
        self.retried: Counter[str] = Counter()
        """By type: attempts that failed and will be made again."""
        self.set_aside: Counter[str] = Counter()
        """By type: messages that returned uncounted to wait for a dependency."""
        self.dead_lettered: Counter[str] = Counter()
        """By reason."""
        self.dead_types: Counter[str] = Counter()
        """Dead-lettered messages by type; those that no handler takes are `UNKNOWN`."""
        self.rejected = 0
        """Bodies without an envelope, which the broker dead-letters."""
        self.batch_sizes = Histogram(SIZES)
        """Messages per committed transaction."""
        self.handler_seconds = _durations()
        """By type: one attempt of a single handler, one call of a set-based one."""
        self.end_to_end_seconds = _durations()
        """By type: from the envelope's timestamp to the commit, wanted delays and retries included; of batches sampled."""
        self.waiting_seconds = _durations()
        """By type: from the envelope's timestamp to the beginning of the last attempt; of batches sampled."""

    def note_processed(self, messages: Sequence[Message], worked: Sequence[float], now: datetime) -> None:
        """Counts messages with effects committed at `now`, each with the seconds since its last attempt began."""
        types = {message.type for message in messages}
        for name in types:
            pairs = list(zip(messages, worked, strict=True))
            alike = pairs if len(types) == 1 else [each for each in pairs if each[0].type == name]
            self.processed[name] += len(alike)
            # Neighbours in a queue have waited alike.
            step = 1 + len(alike) // SAMPLED
            sample = [((now - message.timestamp).total_seconds(), ago) for message, ago in alike[::step]]
            self.end_to_end_seconds[name].add([age for age, _ in sample], step)
            self.waiting_seconds[name].add([age - ago for age, ago in sample], step)

    def note_call(self, types: Collection[str], seconds: float) -> None:
        """Adds the seconds that a handler worked on messages of these types."""
        name = next(iter(types)) if len(types) == 1 else SEVERAL
        self.handler_seconds[name].add((seconds,))


class PublishCounts:
    """Outcomes of the rows of the outbox since the start of the process."""

    def __init__(self) -> None:
        self.published: Counter[str] = Counter()
        """By exchange: confirmed messages."""
        self.failed: Counter[str] = Counter()
        """By reason, one of `PUBLISH_FAILURES`; the relay retries them."""
        self.cancelled: Counter[str] = Counter()
        """By queue: retries that an operator cancelled, which are dead letters."""

    def note(self, rows: Sequence[OutboxRow], outcomes: Sequence[Exception | None]) -> None:
        """Counts the outcome of each row."""
        confirmed = [row.exchange for row, error in zip(rows, outcomes, strict=True) if error is None]
        self.published.update(confirmed)
        if len(confirmed) < len(rows):
            self.failed.update(_reason(error) for error in outcomes if error is not None)


def _reason(error: Exception) -> str:
    match error:
        case UnroutableError():
            return UNROUTABLE
        case BrokerUnavailableError():
            return UNAVAILABLE
        case QueueFullError():
            return FULL
        case PublishRefusedError():
            return REFUSED
        case _:
            return UNSENDABLE
