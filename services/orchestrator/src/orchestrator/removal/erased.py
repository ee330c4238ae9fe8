"""Erased brands, and brands that are being erased: SQL beside the functions that run it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from chassis import Connection


class BrandErasingError(ValueError):
    """The brand's name is not free yet; the message says when it will be."""

    def __init__(self, slug: str) -> None:
        super().__init__(
            f"'{slug}' is being erased: make it anew once every service has answered, as GET /v1/brands/{slug}/erasure shows"
        )


async def check_not_erasing(connection: Connection, slug: str) -> None:
    """Raises BrandErasingError: some service has not confirmed the erasure of this name yet."""
    if await connection.fetchval(
        "select exists (select from erasures where brand_slug = $1 and ended_at is null)", slug
    ):
        raise BrandErasingError(slug)


class MessageSubject(NamedTuple):
    """The subject of a message, to check whether the message is late."""

    slug: str
    sent_at: datetime
    content_id: UUID | None = None


async def find_late(connection: Connection, messages: Sequence[MessageSubject]) -> list[bool]:
    """For each message, whether its brand was erased after it was sent, or its article was deleted."""
    rows = await connection.fetch(
        """
        select exists (select from erasures as e where e.brand_slug = m.slug and e.asked_at >= m.sent_at)
            or exists (select from deleted_articles as d where d.content_id = m.content_id) as late
        from unnest($1::text[], $2::timestamptz[], $3::uuid[]) with ordinality as m (slug, sent_at, content_id, n) order by n
        """,
        [each.slug for each in messages],
        [each.sent_at for each in messages],
        [each.content_id for each in messages],
    )
    return [row["late"] for row in rows]
