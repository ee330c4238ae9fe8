"""Pictures by address: those that were drawn before, else drawn now."""

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
                logo = await logos.body(connection, brand, cover.logo) if cover.logo and not kept else None
            if kept:
                return kept
            if cover.logo and logo is None:
                return None  # it was changed or taken away a moment ago: the cover of now is another
            began = time.monotonic()
            # In a thread: pages are served meanwhile.
            body = await asyncio.to_thread(_drawn, cover, format_, logo)
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

    async def drawn(self, brand: BrandSlug, cover: Cover, format_: Format) -> bytes:
        """The file of a cover, drawn for whoever takes it along; nothing of it is kept."""
        async with self._drawing:
            async with self._database.connection() as connection:
                logo = await logos.body(connection, brand, cover.logo) if cover.logo else None
            return await asyncio.to_thread(_drawn, cover, format_, logo)


def _drawn(cover: Cover, format_: Format, logo: bytes | None) -> bytes:
    # What draws takes some 12 MB, so it is loaded where there is something to draw.
    from publisher.covers.drawing import draw  # noqa: PLC0415

    return draw(cover, format_, logo)
