"""The state of everything after a run, observed from outside. Plain data."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class HandlerEffect:
    """A row that a handler wrote in its transaction. Only correct delivery prevents duplicates."""

    command: str
    correlation_id: str | None
    brand: str
    number: int
    """Position among the decisions of its brand, from 1, counted by the writer under the brand's lock."""
    worker: str
    locked_at: datetime
    """When the writer had the brand's lock, by the database's clock."""
    written_at: datetime


@dataclass(frozen=True, slots=True)
class DeadLetterCopy:
    """A dead letter; copies of the same one count once."""

    identity: str
    command: str
    queue: str
    reason: str
    attempts: int
    correlation_id: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class QueueArrival:
    """A message that a queue received."""

    queue: str
    event_id: str
    causation_id: str | None
    type: str
    correlation_id: str | None
    replay_of: str | None = None
    """For word of a replay that was handled: the command whose dead letter it settles."""
    replay: str | None = None
    """The same: the replaying command."""


@dataclass(frozen=True, slots=True)
class OutboxChange:
    """A change of an outbox row, recorded by a trigger in order."""

    kind: str
    """`insert`, `claim`, `give_back` or `delete`."""
    row: str
    command: str
    """The `event_id` of the message in the row."""
    exchange: str
    at: datetime
    deliver_at: datetime
    worker: str
    attempt: int = 1
    again: bool = False
    """Whether the same attempt goes back: it was put down by a process that ended, or what it needs is away."""
    lease_before: str | None = None
    lease_after: str | None = None


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Counts that must be 0 after the work has ended and the workers have stopped."""

    queues: Mapping[str, int] = field(default_factory=dict)
    """Queue → messages in it; what a worker never acknowledged is back in its queue by then."""
    outbox: int = 0
    markers: int = 0


@dataclass(frozen=True, slots=True)
class RunObservation:
    effects: tuple[HandlerEffect, ...] = ()
    letters: tuple[DeadLetterCopy, ...] = ()
    arrivals: tuple[QueueArrival, ...] = ()
    outbox: tuple[OutboxChange, ...] = ()
    leftovers: Leftovers = field(default_factory=Leftovers)
    logged: Mapping[str, int] = field(default_factory=dict)
    """Log event → lines of it, over all workers."""

    def published_again(self, queue: str) -> int:
        """Messages that a queue received more than once."""
        copies = Counter(arrival.event_id for arrival in self.arrivals if arrival.queue == queue)
        return sum(1 for count in copies.values() if count > 1)
