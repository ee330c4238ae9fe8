"""Answers visitors from a standby of the database, as long as that is known to be nearly current.

`Replica` follows the standby, and `ReplicaFirst` chooses who answers a request.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

import asyncpg
import structlog
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis import Connection, DatabaseUnavailableError
from chassis.database.pool import Connections
from chassis.observing.metrics import Families
from messaging.doctor import Finding, Status

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 1.0
"""Between two looks at the standby."""
ANSWER_SECONDS: Final = 2.0
"""How long the standby has for an answer or a look; then the primary answers."""
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
"""Pauses after failed answers, each twice as long as the one before."""
_MOST_POSITIONS: Final = 1000
_FIRST_ERROR: Final = 400
_FIRST_FAULT: Final = 500
_NEVER: Final = float("-inf")

_PRIMARY: Final = """
    select (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint as position, (select system_identifier from pg_control_system()) as system
"""
_STANDBY: Final = """
    select (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint as position, (select system_identifier from pg_control_system()) as system,
           pg_is_in_recovery() as is_standby,
           exists (select from pg_stat_wal_receiver where pid is not null) as is_streaming
"""


class PageDatabase(Protocol):
    """What pages are read from: the service's own database, or a standby of it."""

    def connection(self) -> AbstractAsyncContextManager[Connection]: ...


class Replica:
    """A standby, and up to when it is known to have everything that was committed.

    A look asks the primary first for the end of its log, and then the standby how far it has replayed. What the primary had at
    the time of an earlier look is there once the standby has replayed up to that position. No clock of a server matters.

    Args:
        url: of the standby.
        primary: the service's own database.
        most_seconds: how far behind it may be.
        size: connections at most.
        clock: in seconds.
    """

    def __init__(
        self,
        url: str,
        primary: PageDatabase,
        *,
        most_seconds: float,
        size: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connections = Connections(url, name="publisher reads pages", size=size)
        self._primary = primary
        self._most_seconds = most_seconds
        self._clock = clock
        self._positions: deque[tuple[float, int]] = deque(maxlen=_MOST_POSITIONS)
        self._complete_until = _NEVER
        self._trouble = "it was not looked at yet"
        self._shut_until = _NEVER
        self._pause = _FIRST_PAUSE
        self._was_used = False
        self.answers = {"replica": 0, "primary": 0}
        """Who answered the visitors' requests for reading."""

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        return self._connections.connection()

    @property
    def seconds_behind(self) -> float:
        """What it shows is at most so old; infinite before it was complete for the first time."""
        return self._clock() - self._complete_until

    @property
    def trouble(self) -> str:
        """Why it is not used; empty if it is."""
        if self._trouble:
            return self._trouble
        if self._clock() < self._shut_until:
            return "it failed to answer, and is left alone for a while"
        if self.seconds_behind > self._most_seconds:
            return f"it is over {self._most_seconds:g} s behind, or the primary does not say"
        return ""

    async def follow(self) -> None:
        """Connects, then looks again and again until cancelled."""
        await self._connections.open()
        while True:
            await self.look()
            self._tell()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._compare()
        except (DatabaseUnavailableError, TimeoutError) as error:
            self._trouble = f"the standby or the primary does not answer ({type(error).__name__})"
        except asyncpg.PostgresError as error:
            self._trouble = f"it does not say how far it is ({error})"

    async def _compare(self) -> None:
        began = self._clock()
        async with self._primary.connection() as connection:
            primary = await connection.fetchrow(_PRIMARY)
        async with self._connections.connection() as connection:
            standby = await connection.fetchrow(_STANDBY)
        assert primary is not None
        assert standby is not None
        if not standby["is_standby"] or standby["system"] != primary["system"]:
            self._trouble = "it is no standby of the service's own database"
        elif not standby["is_streaming"]:
            self._trouble = "it does not stream from the primary"
        else:
            self._trouble = ""
            self._positions.append((began, primary["position"]))
            while self._positions and self._positions[0][1] <= standby["position"]:
                self._complete_until = self._positions.popleft()[0]

    def served(self, by: str) -> None:
        self.answers[by] += 1
        if by == "replica":
            self._pause = _FIRST_PAUSE

    def refuse(self, why: str) -> None:
        """Leaves it alone for a while, because it failed a visitor."""
        if self._clock() < self._shut_until:
            return
        log.warning("replica_failed", error=why, pause_seconds=self._pause)
        self._shut_until = self._clock() + self._pause
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _tell(self) -> None:
        is_used = not self.trouble
        if is_used and not self._was_used:
            log.info("replica_used", seconds_behind=round(self.seconds_behind, 1))
        if self._was_used and not is_used:
            log.warning("replica_not_used", why=self.trouble)
        self._was_used = is_used

    async def probe(self) -> Finding:
        """For the doctor."""
        if trouble := self.trouble:
            return Finding(
                "replica",
                Status.WARNING,
                f"Sites are read from the primary, and not from REPLICA_DATABASE_URL: {trouble}.",
                "Look at the standby and its replication, or remove REPLICA_DATABASE_URL.",
            )
        return Finding(
            "replica",
            Status.OK,
            f"Sites are read from the standby, which is {self.seconds_behind:.1f} s behind at most.",
        )

    async def aclose(self) -> None:
        await self._connections.close()


class ReplicaMetrics(Collector):
    def __init__(self, replica: Replica, families: Families) -> None:
        self._replica = replica
        self._families = families

    def collect(self) -> Iterable[Metric]:
        replica = self._replica
        yield self._families.value(
            "replica_used", "Whether sites are read from the standby.", float(not replica.trouble)
        )
        behind = min(replica.seconds_behind, 1e9)
        yield self._families.value("replica_seconds_behind", "What the standby may lack, at most.", behind)
        answers = self._families.counter(
            "site_answers", "Answers to visitors, by the database read.", "database"
        )
        for database, count in replica.answers.items():
            answers.add_metric((database,), count)
        yield answers


class ReplicaFirst:
    """ASGI: what `replica_sites` finds, it answers; `sites` answers everything else, also while the standby is away or behind.

    Each has its own cache of pages: a page that was read from the standby must not count as the primary's newer version.
    """

    def __init__(self, sites: ASGIApp, replica_sites: ASGIApp, replica: Replica) -> None:
        self._sites = sites
        self._replica_sites = replica_sites
        self._replica = replica
        self._given_up: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"}:
            await self._sites(scope, receive, send)
            return
        if not self._replica.trouble and (answer := await self._answer(scope, receive)):
            self._replica.served("replica")
            for message in answer:
                await send(message)
            return
        self._replica.served("primary")
        await self._sites(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> list[Message] | None:
        """The whole answer of the standby; None if it has none, or took too long."""
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        # Sites change their scope, and the primary's are to find it as it came.
        own_scope = dict(scope)
        answering = asyncio.ensure_future(self._replica_sites(own_scope, receive, keep))
        try:
            await asyncio.wait({answering}, timeout=ANSWER_SECONDS)
        finally:
            if not answering.done():
                # It is not waited for: a silent server takes seconds to be given up.
                answering.cancel()
                self._given_up.add(answering)
                answering.add_done_callback(self._given_up.discard)
        if not answering.done():
            self._replica.refuse(f"no answer within {ANSWER_SECONDS:g} s")
            return None
        if (error := answering.exception()) is not None:
            self._replica.refuse(type(error).__name__)
            return None
        status = next(each["status"] for each in messages if each["type"] == "http.response.start")
        if status >= _FIRST_FAULT:
            self._replica.refuse(f"status {status}")
        if status >= _FIRST_ERROR:
            return None
        scope.update(own_scope)
        return messages
