"""Checks that the broker still answers on a connection that looks open.

A stalled broker, or one behind a network that drops packets, closes nothing, and heartbeats take a minute to show it. So the probe
sends a request every few seconds and drops a connection without an answer. The next one may reach a living node behind a load balancer.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import structlog

from messaging.broker import frames
from messaging.errors import BROKER_ERRORS

log = structlog.get_logger(__name__)

ASK_SECONDS: Final = 2.0
"""Between an answer and the next question."""
ANSWER_SECONDS: Final = 5.0
"""The probe drops a connection on which nothing arrives for so long."""
READY_SECONDS: Final = 2.0
"""The limit for the readiness probe, whose callers do not wait long."""
_LOOK_SECONDS: Final = 0.25
"""Time is counted in looks, so that the broker is not blamed while our own loop was blocked."""


class ConnectionProbe:
    """Probes the present connection of one kind, again after each reconnect.

    Args:
        name: of the connection, for logs.
        connection: returns the present aiormq connection, or None.
        excused: returns whether silence is normal: a broker short of memory stops reading from publishers.
    """

    def __init__(
        self,
        name: str,
        *,
        connection: Callable[[], Any],
        excused: Callable[[], bool] = lambda: False,
    ) -> None:
        self._name = name
        self._connection = connection
        self._channel: Any = None
        self._excused = excused
        self._asked: tuple[Any, asyncio.Task[None]] | None = None

    async def run(self) -> None:
        """Drops each connection that falls silent; runs until cancelled."""
        try:
            while True:
                await asyncio.sleep(ASK_SECONDS)
                connection = self._connection()
                if not await self.answers(within=ANSWER_SECONDS) and connection is self._connection():
                    log.error("broker_silent", connection=self._name, seconds=ANSWER_SECONDS)
                    frames.abort(connection)
        finally:
            if self._asked is not None:
                self._asked[1].cancel()

    async def answers(self, *, within: float = READY_SECONDS) -> bool:
        """Whether the broker answers within so many seconds; True where there is no connection, or silence is excused."""
        connection = self._connection()
        if connection is None or connection.is_closed or self._excused():
            return True
        if self._asked is None or self._asked[0] is not connection or self._asked[1].done():
            # Never cancelled for being late: the client library would close the channel.
            self._asked = connection, asyncio.create_task(self._ask(connection), name=f"{self._name} probe")
        asked = self._asked[1]
        heard = frames.count_reads(connection)
        for _ in range(round(within / _LOOK_SECONDS)):
            await asyncio.wait([asked], timeout=_LOOK_SECONDS)
            if asked.done() or frames.count_reads(connection) != heard:
                return True
        return connection.is_closed or self._excused()

    async def _ask(self, connection: Any) -> None:
        # On a channel that nothing else is asked on. One that publishes or consumes waits for the leader of a quorum queue,
        # which may be on another node: that says nothing about this one, and a new connection would wait just as long.
        with suppress(*BROKER_ERRORS):
            channel = self._channel
            if channel is None or channel.is_closed or channel.connection is not connection:
                self._channel = await connection.channel(publisher_confirms=False)
            else:
                await channel.flow(active=True)  # which it is anyway
