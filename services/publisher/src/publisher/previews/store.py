"""Links to drafts in the publisher's database: each statement beside the function that runs it."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from chassis import Connection
from publisher.domain import BrandSlug


@dataclass(frozen=True, slots=True)
class PreviewLink:
    brand: BrandSlug
    content_id: UUID
    expires_at: datetime


async def keep(
    connection: Connection, word: str, brand: BrandSlug, content_id: UUID, lasts: timedelta
) -> datetime:
    """Has the word lead to the draft for so long, in the caller's transaction, and forgets those that have ended; until when."""
    await connection.execute("delete from previews where expires_at < clock_timestamp()")
    expires_at: datetime = await connection.fetchval(
        """
        insert into previews (word_digest, brand_slug, content_id, expires_at)
        values ($1, $2, $3, clock_timestamp() + $4) returning expires_at
        """,
        _digest(word),
        brand,
        content_id,
        lasts,
    )
    return expires_at


async def preview(connection: Connection, word: str) -> PreviewLink | None:
    """None if it leads nowhere, or not any more."""
    row = await connection.fetchrow(
        "select brand_slug, content_id, expires_at from previews where word_digest = $1 and expires_at >= clock_timestamp()",
        _digest(word),
    )
    return (
        None
        if row is None
        else PreviewLink(BrandSlug(row["brand_slug"]), row["content_id"], row["expires_at"])
    )


def _digest(word: str) -> bytes:
    # Of 256 bits of chance: nothing has to slow down who tries.
    return hashlib.sha256(word.encode()).digest()
