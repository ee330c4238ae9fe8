"""Has the consumers of this process follow the pauses that operators have stored in the database."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import structlog

from chassis.database.pool import Connections, DatabaseUnavailableError
from messaging.flow.runner import QueueRunner
from messaging.storage import pauses
from messaging.storage.pauses import QueuePause

log = structlog.get_logger(__name__)

FOLLOW_EVERY: Final = timedelta(seconds=2)


class PauseFollower:
    """Holds the runners of paused queues, and lets go those of others. While the database is away, all stay as they are."""

    def __init__(self, connections: Connections, runners: Sequence[QueueRunner]) -> None:
        self._connections = connections
        self._runners = runners
        self._lock = asyncio.Lock()
        self.known: Mapping[str, QueuePause] = {}
        """Pauses by queue, as of the last look."""

    async def follow(self) -> None:
        """Reads the pauses and follows them.

        Raises:
            DatabaseUnavailableError: the database is unavailable.
        """
        async with self._lock:
            async with self._connections.connection() as connection:
                self.known = await pauses.find(connection)
            for runner in self._runners:
                pause = self.known.get(runner.queue)
                if pause is not None and not runner.is_held:
                    log.warning("queue_paused", queue=runner.queue, by=pause.by, reason=pause.reason)
                    await runner.hold()
                elif pause is None and runner.is_held:
                    log.info("queue_resumed", queue=runner.queue)
                    await runner.let_go()

    async def follow_at_start(self) -> None:
        """Waits for the database and follows the pauses, so that no message of a paused queue is taken at the start."""
        while True:
            try:
                await self.follow()
            except DatabaseUnavailableError:
                await self._connections.wait_until_available()
            else:
                return
