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


async def create_link(
    connection: Connection, word: str, brand: BrandSlug, content_id: UUID, lasts: timedelta
) -> datetime:
    """Stores a link to the draft in the caller's transaction, and deletes expired ones; returns the time of expiry."""
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


async def find_link(connection: Connection, word: str) -> PreviewLink | None:
    """The draft behind a word; None if the link is unknown or expired."""
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
    # 256 random bits need no slow hash.
    return hashlib.sha256(word.encode()).digest()
