"""What one schedule does, drawn from its seed: how many replicas, which messages, which faults, how often."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final
from uuid import UUID

from messaging.flow.policy import QueuePolicy

QUEUE: Final = "research-commands"
BATCH_TYPE: Final = "research.requested"
"""Goes to the set-based handler."""
SINGLE_TYPE: Final = "content.publish"
"""Goes to the single handler."""
MOST_COMMANDS: Final = 10
ALWAYS: Final = 1_000


class CommandKind(StrEnum):
    """How a command behaves."""

    GOOD = "good"
    DELAYED = "delayed"
    """Good; what it sends is for later."""
    REPLAY = "replay"
    """Good; it replays a dead letter."""
    FAILING = "failing"
    """Its handler raises."""
    LATE = "late"
    """Its handler names it failed within the batch, and goes on."""
    HOPELESS = "hopeless"
    """Its handler says that no attempt can succeed."""
    SLOW = "slow"
    """Takes longer than allowed, the first times."""
    CRASHING = "crashing"
    """Its consumer dies of it."""
    INVALID = "invalid"
    UNKNOWN = "unknown"
    GARBAGE = "garbage"

    @property
    def innocent(self) -> bool:
        """Whether nothing about it can fail, so that only its surroundings can."""
        return self in (CommandKind.GOOD, CommandKind.DELAYED, CommandKind.REPLAY)


class PlannedFault(StrEnum):
    """A fault. Statement faults strike at a database statement, others at any time."""

    LOST = "statement lost"
    UNANSWERED = "statement done, reply lost"
    DEADLOCK = "deadlock reported"
    SILENCE = "statement hangs"
    CRASH = "process killed"
    CRASH_AFTER = "process killed after a statement"
    FREEZE = "process suspended"
    CUT = "broker connection cut"
    BLACK_HOLE = "broker connection half-open"
    CANCEL = "consumer cancelled by the broker"
    NACK = "publish refused"
    DATABASE_DOWN = "database down"
    PARTITION = "database out of reach for one"
    DISK_FULL = "database refuses rows"
    BROKER_DOWN = "broker down"
    ALARM = "broker blocks publishers"
    UNBOUND = "binding gone"
    RESTART = "replica restarted in order"


class RedeliveryCounts(StrEnum):
    """Redelivery counts that the broker sends with a message."""

    RETURNS = "how often it came back"
    FAILURES = "how often its consumer was lost"
    """RabbitMQ from 4.3, where giving back is none."""
    NOTHING = "nothing"


STATEMENT_FAULTS: Final = frozenset(
    {
        PlannedFault.LOST,
        PlannedFault.UNANSWERED,
        PlannedFault.DEADLOCK,
        PlannedFault.SILENCE,
        PlannedFault.CRASH_AFTER,
    }
)
ANYWHERE: Final = tuple(
    fault for fault in PlannedFault if fault not in STATEMENT_FAULTS and fault is not PlannedFault.NACK
)


@dataclass(slots=True, eq=False)
class PlannedCommand:
    """One command of a schedule and what is known of it from outside."""

    number: int
    kind: CommandKind
    single: bool
    times: int
    """How often it misbehaves before it behaves."""
    event_id: UUID
    copies: list[float]
    """When a copy of it arrives at the broker."""
    maybe: bool
    """Whether its sender never learnt that it arrived; then it need not have."""
    runs: int = 0
    crashes: int = 0
    blame: int = 0
    """Deaths of processes that had it under a marker."""
    arrived: int = 0
    body: bytes = b""
    type: str | None = None
    headers: dict[str, str | int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"#{self.number} {self.kind}{' single' if self.single else ''}"


@dataclass(slots=True, eq=False)
class SchedulePlan:
    """Everything that is decided before a schedule starts; the rest is decided as it runs."""

    replicas: int
    policy: QueuePolicy
    commands: list[PlannedCommand]
    shuffled: bool
    counts: RedeliveryCounts
    reorder: float
    """Chance that the broker delivers another message than the first."""
    trouble: float
    """Chance of a fault at each exchange with database or broker."""
    absent: bool
    """Whether what is away stays away for so long that leases end."""
    budget: int
    """Faults in all."""
    at_statements: tuple[PlannedFault, ...]
    at_broker: tuple[PlannedFault, ...]
    nacks: bool
    """Whether the broker refuses some publishes."""
    timed: list[tuple[float, PlannedFault]]
    heal_at: float
    """Virtual seconds after which nothing breaks any more."""
    pool: int
    backlog_limit: int
    pace: float
    """Seconds a network round trip takes, some of the time."""
    skew: float
    """Seconds by which the first replica's clock is ahead of the database's; the second's is twice as far."""
    stop_at_end: bool
    """Whether all replicas are stopped in order once everything is done."""


_KINDS: Final = (
    *(CommandKind.GOOD,) * 6,
    CommandKind.DELAYED,
    CommandKind.REPLAY,
    CommandKind.FAILING,
    CommandKind.FAILING,
    CommandKind.LATE,
    CommandKind.HOPELESS,
    CommandKind.SLOW,
    CommandKind.CRASHING,
    CommandKind.INVALID,
    CommandKind.UNKNOWN,
    CommandKind.GARBAGE,
)
_NEVER_SINGLE: Final = (CommandKind.LATE, CommandKind.INVALID, CommandKind.UNKNOWN, CommandKind.GARBAGE)
_IDS: Final = tuple(
    UUID(int=(0x0190_0000_0000 + n) << 80 | 7 << 76 | 2 << 62 | n + 1) for n in range(MOST_COMMANDS + 2)
)


def draw(random: Random) -> SchedulePlan:
    """A plan; the same for the same state of `random`."""
    chance = random.random
    window = 0.2 + 3.0 * chance()
    faults = random.sample(tuple(PlannedFault), 2 + int(chance() * 5))
    # Leases are lost by whoever is away for longer, and missed if the next holder is slow as well.
    absent = chance() < 0.1
    if absent:
        faults = [PlannedFault.FREEZE, PlannedFault.UNBOUND, faults[0]]
    heal_at = window + (60.0 if absent else 0.0) + (100.0 if chance() < 0.15 else 4.0) * chance()
    policy = QueuePolicy(
        max_batch_size=1 + int(chance() * 4),
        max_batch_timeout=0.05 if chance() < 0.15 else 0.0,
        max_concurrency=1 + int(chance() * 3),
        handler_timeout=(3.0, 12.0, 60.0)[int(chance() * 3)],
        max_attempts=2 + int(chance() * 3),
        backoff_base=0.5 + 2 * chance(),
        backoff_limit=6.0,
        prefetch=1 + int(chance() * 6) if chance() < 0.3 else None,
    )
    count = 3 + int(chance() * (MOST_COMMANDS - 2))
    commands = [_command(n, chance, window, heal_at) for n in range(count)]
    # Two more after everything is well again: whoever cannot handle them has stopped working.
    for single in (False, True):
        commands.append(
            PlannedCommand(
                len(commands),
                CommandKind.GOOD,
                single,
                0,
                _IDS[len(commands)],
                [heal_at + 0.001],
                maybe=False,
            )
        )
    quiet = chance() < 0.1
    return SchedulePlan(
        replicas=1 + int(chance() * 3) if not absent else 2,
        policy=policy,
        commands=commands,
        shuffled=chance() < 0.5,
        counts=(
            RedeliveryCounts.RETURNS,
            RedeliveryCounts.RETURNS,
            RedeliveryCounts.FAILURES,
            RedeliveryCounts.NOTHING,
        )[int(chance() * 4)],
        reorder=0.3 * chance() if chance() < 0.5 else 0.0,
        trouble=0.0 if quiet else 0.1 if absent else 0.002 + 0.04 * chance() ** 2,
        absent=absent,
        budget=1 + int(chance() * 6),
        at_statements=tuple(fault for fault in faults if fault is not PlannedFault.NACK),
        at_broker=tuple(
            fault for fault in faults if fault not in STATEMENT_FAULTS and fault is not PlannedFault.NACK
        ),
        nacks=PlannedFault.NACK in faults,
        timed=[
            (chance() * min(heal_at, window + 2.0), ANYWHERE[int(chance() * len(ANYWHERE))])
            for _ in range(0 if quiet else int(chance() * 4))
        ],
        heal_at=heal_at,
        pool=2 if chance() < 0.3 else 10,
        backlog_limit=2 if chance() < 0.15 else 10_000,
        pace=0.002 if chance() < 0.5 else 0.05,
        skew=7200.0 * (chance() - 0.5) if chance() < 0.3 else 0.0,
        stop_at_end=chance() < 0.25,
    )


def _command(number: int, chance: Callable[[], float], window: float, heal_at: float) -> PlannedCommand:
    kind = _KINDS[int(chance() * len(_KINDS))]
    copies = [chance() * window]
    while chance() < 0.25:
        copies.append(chance() * (heal_at + 1.0))
    return PlannedCommand(
        number=number,
        kind=kind,
        single=kind not in _NEVER_SINGLE and chance() < 0.4,
        times=ALWAYS if chance() < 0.4 else 1 + int(chance() * 3),
        event_id=_IDS[number],
        copies=copies,
        maybe=chance() < 0.1,
    )
