"""Invariants of every schedule, checked from outside the code under test."""

from typing import Any, Final
from uuid import UUID

from envelope.brand import EVENTS
from faults.simulation.broker.server import EVENT_QUEUES
from faults.simulation.plan import CommandKind, PlannedCommand, PlannedFault
from faults.simulation.surroundings import SimulatedServers
from messaging import headers as header
from messaging.storage.crashes import MAX_RETURNS, MAX_STARTS
from messaging.storage.outbox import OutboxRow
from messaging.topology import COMMANDS, DEAD_LETTERS, RETURNS

_EPSILON: Final = 1e-6
_SURROUNDINGS: Final = {"HandlerTimeout", "DeadlockDetectedError"}
"""Failures that can befall a message which is not to blame: it waited too long, or lost every time."""


class ScheduleChecks:
    """Collects violations of one schedule."""

    def __init__(self, schedule: SimulatedServers) -> None:
        self._schedule = schedule
        self.found: list[tuple[str, str]] = []
        """Name of the invariant, and what contradicts it."""
        self._due: dict[tuple[bytes, int], float] = {}
        """When a retry may come back at the earliest, by body and attempt."""

    def violated(self, invariant: str, detail: str) -> None:
        self.found.append((invariant, detail))
        self._schedule.note(None, "VIOLATED", invariant, detail)

    # -- while it runs -----------------------------------------------------------------------------------------------

    def attempted(self, command: PlannedCommand, attempt: int) -> None:
        if attempt > (self._schedule.plan.policy.max_attempts or attempt):
            self.violated("attempts", f"{command} is in attempt {attempt}")

    def row_written(self, row: OutboxRow) -> None:
        """A row goes into the outbox, perhaps in a transaction that will not commit."""
        if row.exchange == RETURNS and header.WAITS in row.headers:
            self._again(row)
        elif row.exchange == RETURNS:
            self._retry(row)
        elif row.exchange == DEAD_LETTERS:
            self._death(row)

    def _retry(self, row: OutboxRow) -> None:
        policy, command = self._schedule.plan.policy, self._schedule.by_body[row.body]
        attempt = int(row.headers[header.ATTEMPT])
        delay = row.delay.total_seconds()
        if attempt > (policy.max_attempts or attempt):
            self.violated("attempts", f"{command} is to be tried a {attempt}th time")
        if delay < policy.backoff(attempt - 1).total_seconds() - _EPSILON:
            self.violated("backoff", f"{command}: attempt {attempt} after {delay} s")
        key = (row.body, attempt)
        due = self._schedule.loop.now + delay
        self._due[key] = min(due, self._due.get(key, due))
        self._blameless(command, str(row.headers.get("failure-type")))

    def _again(self, row: OutboxRow) -> None:
        """Released by a process that ends: the same attempt continues elsewhere without waiting."""
        command, attempt = self._schedule.by_body[row.body], int(row.headers[header.ATTEMPT])
        key = (row.body, attempt)
        if attempt > 1 and key not in self._due:
            self.violated("attempts", f"{command} is put down in attempt {attempt}, which it was never given")
        due = self._schedule.loop.now + row.delay.total_seconds()
        self._due[key] = min(due, self._due.get(key, due))

    def _death(self, row: OutboxRow) -> None:
        command = self._schedule.by_body[row.body]
        if row.headers["failure-reason"] == "crashed_consumer":
            if command.kind is not CommandKind.CRASHING and command.blame < MAX_STARTS:
                self.violated(
                    "innocent", f"{command} dies for {command.blame} crashes of processes that worked on it"
                )
        else:
            self._blameless(command, str(row.headers["failure-type"]))

    def _blameless(self, command: PlannedCommand, failure: str) -> None:
        if command.kind.innocent and failure not in _SURROUNDINGS:
            self.violated("innocent", f"{command} is charged with {failure}")
        if failure == "DatabaseUnavailableError":
            self.violated("outage", f"{command}: an outage of the database counts as an attempt")

    def came_back(self, body: bytes, attempt: int) -> None:
        due = self._due.get((body, attempt))
        if due is None or self._schedule.loop.now < due - _EPSILON:
            self.violated(
                "backoff", f"{self._schedule.by_body[body]}: attempt {attempt} is early (due {due})"
            )

    def row_touched(self, granted_to: UUID | None, lease: UUID, what: str) -> None:
        if granted_to != lease:
            self.violated("fencing", f"a row was {what} by a process whose lease had ended")

    # -- at the end --------------------------------------------------------------------------------------------------

    def conclude(self) -> None:
        """After the drain: every message has had its outcome, and nothing is left."""
        schedule = self._schedule
        effects: dict[UUID, int] = {}
        for event_id in schedule.store.effects:
            effects[event_id] = effects.get(event_id, 0) + 1
        dead = {body for body, _ in schedule.broker.dead}
        for command in schedule.commands.values():
            self._outcome(command, effects.pop(command.event_id, 0), command.body in dead)
        for event_id in effects:
            self.violated("invented", f"an effect of {event_id}, which nobody sent")
        for body, reason in schedule.broker.dead:
            if reason == "delivery_limit":
                self.violated("delivery limit", f"the broker gave up on {schedule.name_of(body)}")
        self._sent()
        self._left_over()

    def _outcome(self, command: PlannedCommand, effects: int, dead: bool) -> None:
        if effects > 1:
            self.violated("duplicated", f"{command} took effect {effects} times")
        if effects and dead:
            self.violated("both", f"{command} took effect and is a dead letter")
        if not effects and not dead and command.arrived:
            self.violated("lost", f"{command} has no outcome")
        if (effects or dead) and not command.arrived:
            self.violated("invented", f"{command} never arrived and has an outcome")
        # An attempt that ends otherwise, by a timeout for instance, lets the count of crashes begin anew.
        attempts = len(command.copies) + sum(
            body == command.body for body, _ in self._schedule.broker.returned
        )
        if command.crashes > (MAX_RETURNS + 1 + MAX_STARTS) * attempts + 6:
            self.violated("crasher", f"{command} killed {command.crashes} processes")
        if dead and command.kind.innocent and not self._excused():
            self.violated("innocent", f"{command} is a dead letter though nothing was wrong with it")

    def _excused(self) -> bool:
        fired = self._schedule.here
        return bool(
            fired
            & {
                PlannedFault.SILENCE,
                PlannedFault.FREEZE,
                PlannedFault.DEADLOCK,
                PlannedFault.LOST,
                PlannedFault.PARTITION,
            }
            or self._schedule.kills >= MAX_STARTS
        )

    def _sent(self) -> None:
        """Everything committed to the outbox arrived wherever it was bound, and nothing else did."""
        broker, store = self._schedule.broker, self._schedule.store
        arrived: dict[str, set[Any]] = {
            name: {body for _, body, _ in broker.bound[name]} for name in EVENT_QUEUES
        }
        arrived[COMMANDS] = {body for _, body, _ in broker.others}
        arrived[RETURNS] = set(broker.returned)
        arrived[DEAD_LETTERS] = {body for body, _ in broker.dead}
        expected: dict[str, set[Any]] = {name: set() for name in arrived}
        for row in store.sent:
            places = EVENT_QUEUES if row.exchange == EVENTS else (row.exchange,)
            for place in places:
                what = (row.body, int(row.headers["attempt"])) if place == RETURNS else row.body
                expected[place].add(what)
        for place, wanted in expected.items():
            if lost := wanted - arrived[place]:
                self.violated("outgoing", f"{len(lost)} committed messages never reached {place}")
            if place != DEAD_LETTERS and (ghosts := arrived[place] - wanted):
                self.violated("outgoing", f"{len(ghosts)} messages reached {place} that nobody committed")
        if len(expected[EVENTS_KEY]) != len(store.effects):
            self.violated("outgoing", f"{len(store.effects)} effects sent {len(expected[EVENTS_KEY])} events")

    def _left_over(self) -> None:
        schedule = self._schedule
        broker, store = schedule.broker, schedule.store
        for what, left in (
            ("outbox rows", len(store.outbox)),
            ("open inbox keys", len(store.claims)),
            ("ready messages", len(broker.ready)),
            ("unacknowledged deliveries", broker.unacked),
            # Where one consumer marked a message and another finished it, housekeeping forgets the marker.
            ("crash markers", sum(event_id not in store.processed for _, event_id in store.markers)),
        ):
            if left:
                self.violated("left over", f"{left} {what}")
        for error in schedule.loop.errors:
            self.violated("unhandled", error)


EVENTS_KEY: Final = EVENT_QUEUES[0]
