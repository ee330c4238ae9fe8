"""The relay publishes the outbox; no other part of a service publishes.

It publishes rows right after their commit. A sweeper publishes rows that a crash, an outage or a delay left.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import uuid4

import structlog

from chassis import redaction
from chassis.database.pool import Connection, Connections, DatabaseUnavailableError, kept_plans
from messaging import fail_points
from messaging.broker.publisher import Publisher
from messaging.errors import BrokerUnavailableError, QueueFullError
from messaging.flow.route_backoff import RouteBackoff
from messaging.observing.counting import PublishCounts
from messaging.storage import outbox, sent
from messaging.storage.outbox import OutboxRow

log = structlog.get_logger(__name__)

BATCH: Final = 300
IN_FLIGHT: Final = 2
"""Batches in flight: the relay sends one while another waits for its confirms."""
LEASE: Final = timedelta(seconds=30)
"""How long rows belong to the process that publishes them; longer than a publish may take, see `publisher`."""
LONGEST_SLEEP: Final = 10.0
"""Seconds after which the sweeper looks for rows of a crashed replica, even if no row is due here."""
BACKLOG_LIMIT: Final = 10_000
"""Number of overdue rows that pauses consumption."""
_BROKER_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(seconds=60)
_DATABASE_PAUSE: Final = 0.5
"""Seconds before the database is tried again: with a full disk it answers and refuses all work."""


class Relay:
    """Publishes the outbox of one database; several relays may share a database."""

    def __init__(
        self,
        connections: Connections,
        publisher: Publisher,
        *,
        backlog_limit: int = BACKLOG_LIMIT,
        records_sent: bool = True,
    ) -> None:
        self._connections = connections
        self._publisher = publisher
        self._backlog_limit = backlog_limit
        self.records_sent = records_sent
        """Whether it records which messages were sent, for the ledger."""
        self._lease = uuid4()
        self._routes = RouteBackoff()
        self.counts = PublishCounts()
        self._queue: deque[OutboxRow] = deque()
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._working = 0
        self._wake = asyncio.Event()
        self._planned: float | None = None
        self._overdue = 0
        self._added = 0
        self._room = asyncio.Event()
        self._room.set()

    async def write(self, connection: Connection, rows: Sequence[OutboxRow]) -> bool:
        """Writes rows in the caller's transaction; returns whether this relay leases them. `submit` them after the commit."""
        # Without a broker, this relay cannot publish them soon, so it leases none.
        held = self._publisher.ready
        await outbox.insert(connection, rows, self._lease, LEASE if held else timedelta())
        return held

    def submit(self, rows: Sequence[OutboxRow], *, held: bool) -> None:
        """Takes over committed rows: publishes leased ones at once, and the others when they are due."""
        now = [row for row in rows if not row.delay]
        self._count(len(now))
        if now and held:
            # Even if the broker is gone meanwhile: no other relay takes them before their lease runs out.
            self._queue.extend(now)
            self._idle.clear()
            self._arrived.set()
        delays = [row.delay for row in rows if row.delay or not held]
        if delays:
            self._wake_within(min(delays).total_seconds())

    @property
    def publisher(self) -> Publisher:
        return self._publisher

    @property
    def overfull(self) -> bool:
        return self._overdue > self._backlog_limit

    async def wait_for_room(self) -> None:
        """Waits while the outbox has more than `backlog_limit` overdue rows."""
        await self._room.wait()

    async def flush(self) -> None:
        """Waits until all submitted rows are published or released."""
        await self._idle.wait()

    def wake(self) -> None:
        """Looks for due rows now."""
        self._wake.set()

    async def run(self) -> None:
        """Publishes until cancelled."""
        with kept_plans():
            await self._run()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._sweep(), name="outbox sweeper")
            for number in range(IN_FLIGHT):
                tasks.create_task(self._publish_submitted(), name=f"outbox publisher {number + 1}")

    async def _publish_submitted(self) -> None:
        while True:
            await self._arrived.wait()
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            if not self._queue:
                self._arrived.clear()
            if not batch:
                continue
            self._working += 1
            try:
                await self._publish(batch)
            finally:
                self._working -= 1
                if not self._queue and not self._working:
                    self._idle.set()

    async def _publish(self, rows: Sequence[OutboxRow]) -> None:
        if fail_points.ARMED:
            fail_points.reach("relay.publishing")
        rests = {row.id: rest for row in rows if (rest := self._routes.rest_of(row)) is not None}
        resting = [row for row in rows if row.id in rests]
        rows = [row for row in rows if row.id not in rests]
        outcomes = await self._publisher.publish(rows)
        self.counts.note(rows, outcomes)
        self._routes.note(rows, outcomes)
        if fail_points.ARMED:
            fail_points.reach("relay.confirmed")
        done = [row.id for row, error in zip(rows, outcomes, strict=True) if error is None]
        failed = [(row, error) for row, error in zip(rows, outcomes, strict=True) if error is not None]
        while True:
            try:
                async with self._connections.connection() as connection:
                    if done:
                        delete = sent.delete_confirmed if self.records_sent else outbox.delete
                        await delete(connection, done, self._lease)
                    for row, error in failed:
                        await self._give_back(connection, row, error)
                    if resting:
                        await outbox.release(
                            connection,
                            [row.id for row in resting],
                            self._lease,
                            after=max(rests.values()),
                            error="QueueFullError: its route is paused",
                        )
                break
            except DatabaseUnavailableError:
                # Published but still in the table: trying again beats publishing again.
                await self._wait_for_database()
        if fail_points.ARMED:
            fail_points.reach("relay.deleted")
        self._count(-len(done))
        if failed or resting:
            self._wake_within(_BROKER_PAUSE.total_seconds())

    async def _wait_for_database(self) -> None:
        await asyncio.sleep(_DATABASE_PAUSE)
        await self._connections.wait_until_available()

    async def _give_back(self, connection: Connection, row: OutboxRow, error: Exception) -> None:
        pause = _BROKER_PAUSE
        if isinstance(error, QueueFullError):
            pause = self._routes.rest_of(row) or pause
        elif not isinstance(error, BrokerUnavailableError):
            pause = min(timedelta(seconds=2.0 ** min(row.publish_attempts, 10)), _LONGEST_PAUSE)
            log.error(
                "publish_failed",
                exchange=row.exchange,
                routing_key=row.routing_key,
                event_id=str(row.event_id),
                type=row.type,
                correlation_id=row.correlation_id,
                error=repr(error),
                retry_seconds=pause.total_seconds(),
            )
        await outbox.release(
            connection, [row.id], self._lease, after=pause, error=redaction.text(repr(error))[:500]
        )

    async def _sweep(self) -> None:
        while True:
            try:
                await self._publisher.wait_until_ready()
                claimed, wait = await self._claim()
            except DatabaseUnavailableError:
                await self._wait_for_database()
                continue
            if claimed:
                if fail_points.ARMED:
                    fail_points.reach("relay.claimed")
                await self._publish(claimed)
            else:
                await self._sleep(wait)

    async def _claim(self) -> tuple[list[OutboxRow], float]:
        async with self._connections.connection() as connection:
            claimed = await outbox.claim(connection, BATCH, self._lease, LEASE)
            added = self._added
            state = await outbox.measure_backlog(
                connection, self._backlog_limit + 1, max(LEASE, _LONGEST_PAUSE)
            )
        # Rows committed during the count may be missing from it: counted twice is better than not at all.
        self._overdue = state.overdue + self._added - added
        self._count(0)
        if state.next_due is None:
            return claimed, LONGEST_SLEEP
        return claimed, min(max(state.next_due.total_seconds(), 0.01), LONGEST_SLEEP)

    async def _sleep(self, seconds: float) -> None:
        self._planned = asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        finally:
            self._planned = None
            self._wake.clear()

    def _wake_within(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._planned is None or loop.time() + seconds < self._planned:
            # Woken now, the sweeper plans its sleep anew from what the table says.
            self._wake.set()

    def _count(self, change: int) -> None:
        """Updates the number of overdue rows between two sweeps, which correct it."""
        self._overdue = max(self._overdue + change, 0)
        self._added += max(change, 0)
        if self.overfull:
            self._room.clear()
        else:
            self._room.set()
