"""A service's database in memory: the tables of messaging, and transactions as PostgreSQL runs them (read committed).

Statements take effect at one moment, between a request that may be lost and a reply that may be lost; an open
transaction holds the keys it has inserted, and others wait for it.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID

import asyncpg

from chassis.database.pool import STATEMENT_SECONDS
from faults.simulation.course import ConnectedProcess, ScheduleCourse
from faults.simulation.plan import PlannedFault
from messaging.storage.origins import DeadLetterOrigin
from messaging.storage.outbox import OutboxRow


class StoredRow:
    """A row of the outbox."""

    __slots__ = ("attempts", "deliver_at", "due_at", "granted_to", "lease", "row")

    def __init__(self, row: OutboxRow, deliver_at: float, due_at: float, lease: UUID | None) -> None:
        self.row = row
        self.deliver_at = deliver_at
        self.due_at = due_at
        self.lease = lease
        self.attempts = 0
        self.granted_to = lease


_NEVER_WAIT: Final = {"commit", "rollback", "crashes.try_turn", "crashes.starts"}
"""Statements that wait for no lock, so that no deadlock is ever reported in them."""


class OpenTransaction:
    """A transaction that has not ended, with its rows and the tasks that wait for them."""

    __slots__ = ("cleared", "dead", "effects", "inbox", "origins", "outbox", "waiting")

    def __init__(self) -> None:
        self.inbox: dict[UUID, str] = {}
        self.origins: dict[UUID, DeadLetterOrigin] = {}
        self.outbox: list[StoredRow] = []
        self.effects: list[UUID] = []
        self.cleared: list[tuple[str, UUID]] = []
        self.dead = False
        self.waiting: list[asyncio.Future[None]] = []


class SimulatedDatabase:
    """The tables, and whether the database is reachable."""

    def __init__(self, schedule: ScheduleCourse) -> None:
        self.schedule = schedule
        self.processed: dict[UUID, str] = {}
        self.origins: dict[UUID, DeadLetterOrigin] = {}
        self.outbox: dict[UUID, StoredRow] = {}
        self.markers: dict[tuple[str, UUID], int] = {}
        self.marked_by: dict[tuple[str, UUID], ConnectedProcess] = {}
        self.effects: list[UUID] = []
        self.sent: list[OutboxRow] = []
        """Every outbox row that was ever committed."""
        self.claims: dict[UUID, OpenTransaction] = {}
        """Inbox keys of open transactions."""
        self.locks: dict[tuple[str, UUID], OpenTransaction] = {}
        """Crash markers that open transactions have deleted."""
        self.down = False
        self.full = False
        self.connections: dict[SimulatedConnection, None] = {}

    def commit(self, tx: OpenTransaction) -> None:
        self.processed.update(tx.inbox)
        self.origins.update(tx.origins)
        for stored in tx.outbox:
            self.outbox[stored.row.id] = stored
            self.sent.append(stored.row)
        self.effects.extend(tx.effects)
        for key in tx.cleared:
            self.markers.pop(key, None)
            self.marked_by.pop(key, None)
        self.end(tx)

    def end(self, tx: OpenTransaction) -> None:
        """Lets go of everything the transaction holds; without `commit`, as if it had never been."""
        tx.dead = True
        for key in [key for key, holder in self.claims.items() if holder is tx]:
            del self.claims[key]
        for lock in [lock for lock, holder in self.locks.items() if holder is tx]:
            del self.locks[lock]
        for waiter in tx.waiting:
            if not waiter.done():
                waiter.set_result(None)

    def shut(self) -> None:
        """The server goes down: every connection and every open transaction ends."""
        self.down = True
        for connection in list(self.connections):
            connection.lose()

    def drop(self, process: ConnectedProcess, *, linger: float = 0.0) -> None:
        """A process's connections end; the server may notice `linger` seconds later, and keep what they hold till then."""
        for connection in [each for each in self.connections if each.process is process]:
            connection.lose(linger)


class SimulatedConnection:
    """One connection; plays `asyncpg.Connection` as far as `messaging` uses it outside of its SQL functions."""

    __slots__ = ("closed", "process", "schedule", "store", "tx", "waiter")

    def __init__(self, store: SimulatedDatabase, process: ConnectedProcess) -> None:
        self.store = store
        self.schedule = store.schedule
        self.process = process
        self.closed = False
        self.tx: OpenTransaction | None = None
        self.waiter: asyncio.Future[None] | None = None
        store.connections[self] = None

    def is_closed(self) -> bool:
        return self.closed

    def terminate(self) -> None:
        if self.process.alive:
            self.lose()

    def lose(self, linger: float = 0.0) -> None:
        if self.closed:
            return
        self.closed = True
        self.store.connections.pop(self, None)
        tx, self.tx = self.tx, None
        if tx is not None and not tx.dead:
            if linger:
                self.schedule.later(linger, self.store.end, tx)
            else:
                self.store.end(tx)
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    # -- statements --------------------------------------------------------------------------------------------------

    async def plan(self, *, kept: bool) -> None:
        """How statements are planned makes no difference here."""

    async def perform(self, name: str, apply: Callable[[], Any], *, writes: bool = True) -> Any:
        """One round trip: `apply` happens at one moment in it, at most once, or not at all."""
        schedule = self.schedule
        if self.closed:
            raise asyncpg.InterfaceError("connection is closed")
        if schedule.random() < schedule.trouble:
            fault = schedule.strike(self.process, name, schedule.plan.at_statements)
            if fault is not None:
                return await self._perform_badly(fault, name, apply)
        if writes and self.store.full:
            await self._travel()
            self._abort()
            raise asyncpg.DiskFullError("could not extend file: No space left on device")
        if schedule.random() < 0.75:
            return await self._perform_late(name, apply)
        if self.closed:
            raise _lost(schedule)
        result = apply()
        if schedule.trace is not None:
            schedule.note(self.process, name, result)
        await self._travel()
        return result

    async def _perform_late(self, name: str, apply: Callable[[], Any]) -> Any:
        """The request takes its time, not the reply."""
        schedule = self.schedule
        try:
            await schedule.loop.pause(schedule.latency())
        except asyncio.CancelledError:
            # The server may have been done before it was told to stop.
            if not self.closed and schedule.random() < 0.5:
                apply()
            raise
        if self.closed:
            raise _lost(schedule)
        result = apply()
        if schedule.trace is not None:
            schedule.note(self.process, name, result)
        return result

    async def _travel(self) -> None:
        await self.schedule.loop.pause(self.schedule.latency())
        if self.closed:
            raise _lost(self.schedule)

    async def _perform_badly(self, fault: PlannedFault, name: str, apply: Callable[[], Any]) -> Any:
        schedule = self.schedule
        await self._travel()
        match fault:
            case PlannedFault.DEADLOCK if self.tx is not None and name not in _NEVER_WAIT:
                self._abort()
                raise asyncpg.DeadlockDetectedError("deadlock detected")
            case PlannedFault.UNANSWERED:
                apply()
                schedule.note(self.process, name, "done, but the reply is lost")
                self.lose()
                raise _lost(schedule)
            case PlannedFault.CRASH_AFTER:
                apply()
                schedule.note(self.process, name, "done, and killed")
                schedule.kill(self.process)
                await schedule.loop.create_future()
            case PlannedFault.SILENCE:
                done = schedule.random() < 0.5
                if done:
                    apply()
                schedule.note(self.process, name, f"silent from now on, {'done' if done else 'not done'}")
                await schedule.loop.pause(STATEMENT_SECONDS)
                self.lose()
                raise TimeoutError
            case _:
                schedule.note(self.process, name, "lost on its way")
                self.lose(schedule.random() * 20.0 if schedule.random() < 0.2 else 0.0)
                raise _lost(schedule)

    def _abort(self) -> None:
        if self.tx is not None:
            self.store.end(self.tx)

    async def wait_for(self, other: OpenTransaction) -> None:
        """Until another transaction has ended, however it does."""
        self.waiter = waiter = self.schedule.loop.create_future()
        other.waiting.append(waiter)
        try:
            await waiter
        finally:
            self.waiter = None
        if self.closed:
            raise _lost(self.schedule)

    def open_transaction(self) -> OpenTransaction:
        assert self.tx is not None, "this statement belongs into a transaction"
        return self.tx

    def transaction(self) -> "TransactionBlock":
        return TransactionBlock(self)

    async def fetchval(self, query: str, *_: object) -> Any:
        if "transaction_read_only" not in query:
            raise NotImplementedError(f"the simulation knows no such query: {query}")
        return await self.perform("answers", lambda: True, writes=False)

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(
            f"the simulation replaces SQL function by function, and found none that calls {name}"
        )


class TransactionBlock:
    """`async with connection.transaction()`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: SimulatedConnection) -> None:
        self._connection = connection

    async def __aenter__(self) -> Self:
        await self._connection.perform("begin", self._begin, writes=False)
        return self

    def _begin(self) -> None:
        assert self._connection.tx is None, "a transaction is open already"
        self._connection.tx = OpenTransaction()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        connection = self._connection
        if kind is None:
            await connection.perform("commit", self._commit, writes=False)
        elif not connection.process.alive:
            return
        else:
            await connection.perform("rollback", self._rollback, writes=False)

    def _commit(self) -> str:
        tx, self._connection.tx = self._connection.tx, None
        assert tx is not None
        assert not tx.dead, "a failed transaction was committed"
        self._connection.store.commit(tx)
        return f"{len(tx.effects)} effects, {len(tx.inbox)} inbox rows, {len(tx.outbox)} outbox rows"

    def _rollback(self) -> None:
        tx, self._connection.tx = self._connection.tx, None
        if tx is not None:
            self._connection.store.end(tx)


def _lost(schedule: ScheduleCourse) -> Exception:
    """How the end of a connection shows, which differs with the moment."""
    match int(schedule.random() * 4):
        case 0:
            return asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
        case 1:
            return asyncpg.AdminShutdownError("terminating connection due to administrator command")
        case 2:
            return ConnectionResetError("connection reset by peer")
        case _:
            return asyncpg.InterfaceError("connection is closed")


def seconds(delay: timedelta) -> float:
    return delay.total_seconds()
