"""One schedule: replicas, messages and faults from one seed, run under a virtual clock until nothing is left to do."""

from collections.abc import Callable
from contextvars import Context
from random import Random
from typing import Any, Final
from uuid import UUID

from envelope import DomainMessage, Payload
from envelope.brand import EVENTS
from faults.simulation import bodies
from faults.simulation.broker.server import SimulatedBroker
from faults.simulation.checks import ScheduleChecks
from faults.simulation.course import ConnectedProcess, Trace
from faults.simulation.database.store import SimulatedDatabase
from faults.simulation.loop import StuckError, VirtualLoop
from faults.simulation.plan import STATEMENT_FAULTS, PlannedCommand, PlannedFault, SchedulePlan, draw
from faults.simulation.process import GRACE_SECONDS, SimulatedProcess
from messaging.flow.transactions import Transaction
from messaging.topology import COMMANDS, DEAD_LETTERS, RETURNS

DRAIN_SECONDS: Final = 3000.0
"""Virtual time after the last fault within which everything must have come to rest. The longest chain of waits is some
slow messages, of which several copies each make five attempts up to their deadline of a minute, one after the other."""
_LOOK_SECONDS: Final = 1.0
_EXCHANGES: Final = (EVENTS, RETURNS, DEAD_LETTERS, COMMANDS)


class SimulatedSchedule:
    """Everything of one schedule; `run` it once."""

    # Switched off by mutations.
    lease_fencing = True
    mandatory_ignored = False

    def __init__(self, seed: int, *, traced: bool = False, fired: dict[str, int] | None = None) -> None:
        source = Random(seed)
        self.random = source.random
        self.plan: SchedulePlan = draw(source)
        self.trace: Trace | None = [] if traced else None
        self.fired: dict[str, int] = {} if fired is None else fired
        """How often each fault struck, over all schedules that were given this dictionary."""
        self.here: set[PlannedFault] = set()
        self.kills = 0
        self.loop = VirtualLoop(source, shuffled=self.plan.shuffled)
        self.context = Context()
        self.checks = ScheduleChecks(self)
        self.trouble = 0.0
        self.nacks = False
        self._budget = self.plan.budget
        self.replicas: list[SimulatedProcess | None] = [None] * self.plan.replicas
        self._incarnations = [0] * self.plan.replicas
        self.commands: dict[UUID, PlannedCommand] = {
            command.event_id: command for command in self.plan.commands
        }
        self.by_body: dict[bytes, PlannedCommand] = {}
        for command in self.plan.commands:
            bodies.fill(command)
            self.by_body[command.body] = command
        self._stopping_all = False
        self._to_come = 0
        self._ids = 0
        # Both make futures and events, which belong to the loop that runs when they are first waited for.
        self.store = SimulatedDatabase(self)
        self.broker = SimulatedBroker(self)

    def run(self) -> list[tuple[str, str]]:
        """Runs it; returns the violated invariants, none if all is well."""
        try:
            self.loop.run(self._direct(), self.context)
        except StuckError as error:
            self.checks.violated("stuck", str(error))
        finally:
            for process in self.replicas:
                if process is not None and process.alive:
                    process.alive = False
                    self.loop.bury(process)
            self.loop.take_apart()
        return self.checks.found

    # -- what the fakes ask ------------------------------------------------------------------------------------------

    def latency(self) -> float:
        return self.plan.pace * self.random()

    def later(self, seconds: float, callback: Callable[..., object], *args: Any) -> None:
        """Something that happens outside of every process."""
        self.loop.call_at(self.loop.now + seconds, callback, *args, context=self.context)

    def leased(self, holder: UUID | None, lease: UUID) -> bool:
        return holder == lease or not self.lease_fencing

    def new_id(self) -> UUID:
        """A UUIDv7 of this moment."""
        self._ids += 1
        return UUID(int=(bodies.EPOCH_MS + int(self.loop.now * 1000)) << 80 | 7 << 76 | 2 << 62 | self._ids)

    def note(self, process: ConnectedProcess | None, *what: object) -> None:
        if self.trace is not None:
            name = process.name if process is not None else "-"
            self.trace.append((round(self.loop.now, 6), name, tuple(str(each) for each in what)))

    def name_of(self, body: bytes) -> str:
        command = self.by_body.get(body)
        return str(command) if command is not None else body.decode(errors="replace")[:60]

    def send(
        self, tx: Transaction, payload: Payload, caused_by: DomainMessage[Any], *, delayed: bool
    ) -> None:
        if delayed:
            tx.send(payload, caused_by=caused_by, delay=bodies.SEND_LATER)
        else:
            tx.send(payload, caused_by=caused_by)

    # -- processes ---------------------------------------------------------------------------------------------------

    def _start(self, replica: int) -> None:
        self._incarnations[replica] += 1
        process = SimulatedProcess(self, replica, self._incarnations[replica])
        self.replicas[replica] = process
        self.note(process, "starts")

    def kill(self, process: ConnectedProcess) -> None:
        """At this very await; nothing that it would still have done takes effect."""
        if not process.alive:
            return
        self.note(process, "is killed")
        self.kills += 1
        for key, owner in self.store.marked_by.items():
            if owner is process:
                self.commands[key[1]].blame += 1
        self._remove(process)
        self._restart(process.replica)

    def ended(self, process: ConnectedProcess) -> None:
        """It has stopped in order."""
        self.note(process, "has ended")
        self._remove(process)
        if not self._stopping_all:
            self._restart(process.replica)

    def _remove(self, process: ConnectedProcess) -> None:
        process.alive = False
        self.store.drop(process)
        self.broker.cut(process)
        self.loop.bury(process)
        self.replicas[process.replica] = None

    def _restart(self, replica: int) -> None:
        self._to_come += 1

        def start() -> None:
            self._to_come -= 1
            self._start(replica)

        self.later(0.1 + 2.0 * self.random(), start)

    # -- faults ------------------------------------------------------------------------------------------------------

    def strike(
        self, process: ConnectedProcess, where: str, faults: tuple[PlannedFault, ...]
    ) -> PlannedFault | None:
        """A fault at an exchange with database or broker. One that only the statement itself can carry out is returned."""
        if self._budget <= 0 or not faults or not process.alive:
            return None
        self._budget -= 1
        fault = faults[int(self.random() * len(faults))]
        self.count(fault)
        self.note(process, "FAULT", fault, "at", where)
        if fault in STATEMENT_FAULTS:
            return fault
        self._inflict(fault, process)
        return None

    def count(self, fault: PlannedFault) -> None:
        self.fired[fault] = self.fired.get(fault, 0) + 1
        self.here.add(fault)

    def _strike_at_random(self, fault: PlannedFault) -> None:
        alive = [process for process in self.replicas if process is not None]
        if alive:
            self.count(fault)
            process = alive[int(self.random() * len(alive))]
            self.note(process, "FAULT", fault)
            self._inflict(fault, process)

    def _inflict(self, fault: PlannedFault, process: ConnectedProcess) -> None:
        inflict = _ON_PROCESS.get(fault)
        if inflict is not None:
            inflict(self, process)
        else:
            _ON_SURROUNDINGS[fault](self)

    def _freeze(self, process: ConnectedProcess) -> None:
        process.frozen = True
        self.later(self._while(60.0), self._thaw, process)

    def _cut(self, process: ConnectedProcess) -> None:
        self.broker.cut(process)

    def _cut_silently(self, process: ConnectedProcess) -> None:
        self.broker.cut(process, silent=1.0 + 20.0 * self.random())

    def _cancel_consumer(self, process: ConnectedProcess) -> None:
        for channel in self.broker.consumers:
            if channel.process is process:
                channel.consuming = False

    def _part(self, process: ConnectedProcess) -> None:
        process.partitioned = True
        self.store.drop(process, linger=20.0 * self.random() if self.random() < 0.3 else 0.0)
        self.later(self._while(15.0), self._reach, process)

    def _shut_database(self) -> None:
        self.store.shut()
        self.later(self._while(8.0), self._mend, "database")

    def _fill_disk(self) -> None:
        self.store.full = True
        self.later(self._while(1.0), self._mend, "disk")

    def _shut_broker(self) -> None:
        self.broker.down = True
        self.broker.cut()
        self.later(self._while(8.0), self._mend, "broker")

    def _alarm(self) -> None:
        self.broker.block()
        self.later(self._while(20.0), self._mend, "alarm")

    def _unbind(self) -> None:
        self.broker.unbound = _EXCHANGES[int(self.random() * len(_EXCHANGES))]
        self.later(self._while(5.0), self._mend, "binding")

    def _while(self, longest: float) -> float:
        return 25.0 + 50.0 * self.random() if self.plan.absent else longest * self.random() ** 2

    def _thaw(self, process: ConnectedProcess) -> None:
        if process.frozen:
            self.note(process, "goes on")
            self.loop.thaw(process)

    def _reach(self, process: ConnectedProcess) -> None:
        process.partitioned = False

    def _mend(self, what: str) -> None:
        self.note(None, f"{what} is well")
        match what:
            case "database":
                self.store.down = False
            case "disk":
                self.store.full = False
            case "broker":
                self.broker.down = False
            case "alarm":
                self.broker.unblock()
            case _:
                self.broker.unbound = ""

    def _heal(self) -> None:
        self.note(None, "nothing breaks any more")
        self.trouble = 0.0
        self.nacks = False
        self._budget = 0
        for what in ("database", "disk", "broker", "alarm", "binding"):
            self._mend(what)
        for process in self.replicas:
            if process is not None:
                self._reach(process)
                self._thaw(process)

    # -- the course of it --------------------------------------------------------------------------------------------

    async def _direct(self) -> None:
        plan = self.plan
        for replica in range(plan.replicas):
            self._start(replica)
        self.trouble = plan.trouble
        self.nacks = plan.nacks
        for command in plan.commands:
            for number, moment in enumerate(command.copies):
                self._to_come += 1
                self.later(moment, self._submit, command, number)
        for moment, fault in plan.timed:
            self.later(moment, self._strike_at_random, fault)
        await self.loop.pause(plan.heal_at)
        self._heal()
        await self._drain()
        if plan.stop_at_end and not self.checks.found:
            await self._stop_all()
        self.checks.conclude()

    def _submit(self, command: PlannedCommand, number: int) -> None:
        self._to_come -= 1
        if command.maybe and number == 0 and self.random() < 0.5:
            return
        command.arrived += 1
        self.note(None, "submitted", str(command))
        self.broker.enqueue(command.body, command.type, command.headers)

    async def _drain(self) -> None:
        deadline = self.loop.now + DRAIN_SECONDS
        while not self._at_rest():
            if self.loop.now > deadline:
                self.checks.violated("hangs", f"no rest within {DRAIN_SECONDS:g} s")
                return
            for process in self.replicas:
                if (
                    process is not None
                    and not process.stopping
                    and any(task.done() for task in process.vital)
                ):
                    self.checks.violated(
                        "ended", f"a task of {process.name} ended by itself: {_ended(process)}"
                    )
                    return
            await self.loop.pause(_LOOK_SECONDS)

    def _at_rest(self) -> bool:
        broker, store = self.broker, self.store
        if self._to_come or broker.ready or broker.unacked or store.outbox or store.claims:
            return False
        for process in self.replicas:
            if process is None or process.stopping or process.subscription is None:
                return False
            if not process.subscription.consuming or len(process.runner._unsettled):
                return False
        return True

    async def _stop_all(self) -> None:
        self._stopping_all = True
        for process in list(self.replicas):
            if process is not None:
                process.stop()
        deadline = self.loop.now + GRACE_SECONDS + 30.0
        while any(process is not None for process in self.replicas):
            if self.loop.now > deadline:
                self.checks.violated("hangs", "a replica did not stop in time")
                return
            await self.loop.pause(_LOOK_SECONDS)


def _ended(process: SimulatedProcess) -> str:
    for task in process.vital:
        if task.done():
            cause = "cancelled" if task.cancelled() else repr(task.exception())
            return f"{task.get_name()} ({cause})"
    return "none"


_ON_PROCESS: Final[dict[PlannedFault, Callable[[SimulatedSchedule, ConnectedProcess], None]]] = {
    PlannedFault.CRASH: SimulatedSchedule.kill,
    PlannedFault.FREEZE: SimulatedSchedule._freeze,
    PlannedFault.CUT: SimulatedSchedule._cut,
    PlannedFault.BLACK_HOLE: SimulatedSchedule._cut_silently,
    PlannedFault.CANCEL: SimulatedSchedule._cancel_consumer,
    PlannedFault.PARTITION: SimulatedSchedule._part,
    PlannedFault.RESTART: lambda _, process: process.stop(),
}
_ON_SURROUNDINGS: Final[dict[PlannedFault, Callable[[SimulatedSchedule], None]]] = {
    PlannedFault.DATABASE_DOWN: SimulatedSchedule._shut_database,
    PlannedFault.DISK_FULL: SimulatedSchedule._fill_disk,
    PlannedFault.BROKER_DOWN: SimulatedSchedule._shut_broker,
    PlannedFault.ALARM: SimulatedSchedule._alarm,
    PlannedFault.UNBOUND: SimulatedSchedule._unbind,
}
