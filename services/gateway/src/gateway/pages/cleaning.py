"""Keeps what is kept within bounds."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from chassis import Connections
from gateway.pages import store

log = structlog.get_logger(__name__)

_EVERY_SECONDS: Final = 300.0
_STALE_FOR: Final = timedelta(days=7)
"""A page that is good no more may still be confirmed by its site, without being sent again."""


class Cleaning:
    """Takes away, every five minutes, pages that are too old or too many.

    Args:
        connections: where they are kept.
        max_bytes: of all bodies together.
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
