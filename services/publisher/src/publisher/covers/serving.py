"""Pictures by address: those that were drawn before, else drawn now."""

import asyncio
import time
from typing import Final

import structlog

from messaging import Database
from publisher.covers import store
from publisher.covers.cover import Format
from publisher.covers.drawing import draw
from publisher.domain import BrandSlug, PageSlug

log = structlog.get_logger()

MOST_BYTES: Final = 500_000_000


class Covers:
    """`most_bytes` is how much the pictures that are kept may take all together."""

    def __init__(self, database: Database, *, most_bytes: int = MOST_BYTES) -> None:
        self._database = database
        self._most_bytes = most_bytes
        # Drawing takes a processor whole, so one at a time; who wants the same picture finds it when the turn comes.
        self._drawing = asyncio.Lock()

    async def picture(self, brand: BrandSlug, slug: PageSlug, digest: str, format_: Format) -> bytes | None:
        """The file; None if no such picture of the page is kept, and its cover of now has another digest.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        async with self._database.connection() as connection:
            kept = await store.picture(connection, brand, slug, digest, format_)
            cover = None if kept else await store.cover(connection, brand, slug)
        if kept or cover is None or cover.digest != digest:
            return kept
        async with self._drawing:
            async with self._database.connection() as connection:
                kept = await store.picture(connection, brand, slug, digest, format_)
            if kept:
                return kept
            began = time.monotonic()
            # In a thread: pages are served meanwhile.
            body = await asyncio.to_thread(draw, cover, format_)
            async with self._database.transaction() as tx:
                kept = await store.keep(tx.connection, cover, format_, body, most_bytes=self._most_bytes)
        log.info(
            "cover_drawn",
            content_id=str(cover.content_id),
            format=format_.value,
            bytes=len(kept),
            milliseconds=round((time.monotonic() - began) * 1000),
        )
        return kept
