"""What became of it all, as seen from outside after everything has come to rest. Plain data."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class HandlerEffect:
    """A row that a handler wrote in its transaction. Nothing but correct delivery keeps it from being there twice."""

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
    """One death; copies of the same death are one."""

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
    """One change of one outbox row, in the order in which they happened, noted by a trigger."""

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
    """What should be nothing once everything has come to rest and the workers have stopped."""

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
