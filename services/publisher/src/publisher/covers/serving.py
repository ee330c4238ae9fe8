"""Cover files by address: stored ones, or newly drawn ones."""

import asyncio
import time
from typing import Final

import structlog

from messaging import Database
from publisher import logos
from publisher.covers import store
from publisher.covers.cover import Cover, Format
from publisher.domain import BrandSlug, PageSlug

log = structlog.get_logger()

MOST_BYTES: Final = 500_000_000


class Covers:
    """Serves cover files; `most_bytes` limits the stored pictures in total."""

    def __init__(self, database: Database, *, most_bytes: int = MOST_BYTES) -> None:
        self._database = database
        self._most_bytes = most_bytes
        # Drawing fills a processor, so one at a time; a second request for the picture then finds it stored.
        self._drawing = asyncio.Lock()

    async def picture(self, brand: BrandSlug, slug: PageSlug, digest: str, format_: Format) -> bytes | None:
        """The file; None if the digest is neither that of a stored picture nor of the page's current cover.

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
                logo = await logos.body(connection, brand, cover.logo) if cover.logo and not kept else None
            if kept:
                return kept
            if cover.logo and logo is None:
                return None  # The logo changed a moment ago, and the cover with it.
            began = time.monotonic()
            # In a thread: the event loop serves pages meanwhile.
            body = await asyncio.to_thread(_drawn, cover, format_, logo)
            async with self._database.transaction() as tx:
                kept = await store.store_picture(
                    tx.connection, cover, format_, body, most_bytes=self._most_bytes
                )
        log.info(
            "cover_drawn",
            content_id=str(cover.content_id),
            format=format_.value,
            bytes=len(kept),
            milliseconds=round((time.monotonic() - began) * 1000),
        )
        return kept

    async def drawn(self, brand: BrandSlug, cover: Cover, format_: Format) -> bytes:
        """Draws the file of a cover without storing it."""
        async with self._drawing:
            async with self._database.connection() as connection:
                logo = await logos.body(connection, brand, cover.logo) if cover.logo else None
            return await asyncio.to_thread(_drawn, cover, format_, logo)


def _drawn(cover: Cover, format_: Format, logo: bytes | None) -> bytes:
    # Drawing code takes about 12 MB of memory, so it loads at its first use.
    from publisher.covers.drawing import draw  # noqa: PLC0415

    return draw(cover, format_, logo)
