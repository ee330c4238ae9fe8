"""Limits the size of the page cache."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from chassis import Connections
from gateway.pages import store

log = structlog.get_logger(__name__)

_EVERY_SECONDS: Final = 300.0
_STALE_FOR: Final = timedelta(days=7)
"""How long an expired page stays: its site may confirm it without sending it again."""


class PageCacheCleaner:
    """Deletes, every five minutes, cached pages that are too old or exceed the size limit.

    Args:
        connections: of the database with the cache.
        max_bytes: limit of all bodies together.
    """

    def __init__(self, connections: Connections, max_bytes: int) -> None:
        self._connections = connections
        self._max_bytes = max_bytes

    async def run(self) -> None:
        while True:
            await self.clean()
            await asyncio.sleep(_EVERY_SECONDS)

    async def clean(self) -> None:
        async with self._connections.connection() as connection:
            taken = await store.clean(connection, self._max_bytes, _STALE_FOR)
        if taken:
            log.info("pages_forgotten", pages=taken)
