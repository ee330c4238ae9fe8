"""The course that a schedule takes, as the broker, the database and the processes in it see it."""

from contextvars import Context
from typing import Any, Protocol
from uuid import UUID

from envelope import DomainMessage, Payload
from faults.simulation.loop import LoopProcess, VirtualLoop
from faults.simulation.plan import PlannedCommand, PlannedFault, SchedulePlan
from messaging.flow.transactions import Transaction
from messaging.storage.outbox import OutboxRow

Trace = list[tuple[float, str, tuple[str, ...]]]
"""(virtual time, process, what)"""


class ConnectedProcess(LoopProcess, Protocol):
    """A process as the broker and the database see it."""

    name: str
    replica: int
    partitioned: bool
    context: Context

    def stop(self) -> None: ...

    def channel_lost(self, channel: object) -> None: ...


class ScheduleObserver(Protocol):
    """Gets all events and reports violations; see `checks.ScheduleChecks`."""

    def violated(self, invariant: str, detail: str) -> None: ...

    def attempted(self, command: PlannedCommand, attempt: int) -> None: ...

    def row_written(self, row: OutboxRow) -> None: ...

    def row_touched(self, granted_to: UUID | None, lease: UUID, what: str) -> None: ...

    def came_back(self, body: bytes, attempt: int) -> None: ...


class ScheduleCourse(Protocol):
    """The state of a schedule and its next events; see `schedule.SimulatedSchedule`."""

    plan: SchedulePlan
    loop: VirtualLoop
    trace: Trace | None
    trouble: float
    nacks: bool
    mandatory_ignored: bool
    here: set[PlannedFault]
    kills: int
    commands: dict[UUID, PlannedCommand]
    by_body: dict[bytes, PlannedCommand]

    @property
    def checks(self) -> ScheduleObserver: ...

    def random(self) -> float: ...

    def latency(self) -> float: ...

    def later(self, seconds: float, callback: Any, *args: Any) -> None: ...

    def leased(self, holder: UUID | None, lease: UUID) -> bool: ...

    def new_id(self) -> UUID: ...

    def note(self, process: ConnectedProcess | None, *what: object) -> None: ...

    def name_of(self, body: bytes) -> str: ...

    def send(
        self, tx: Transaction, payload: Payload, caused_by: DomainMessage[Any], *, delayed: bool
    ) -> None: ...

    def strike(
        self, process: ConnectedProcess, where: str, faults: tuple[PlannedFault, ...]
    ) -> PlannedFault | None: ...

    def count(self, fault: PlannedFault) -> None: ...

    def kill(self, process: ConnectedProcess) -> None: ...

    def ended(self, process: ConnectedProcess) -> None: ...
