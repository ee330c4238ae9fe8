"""Brands that were erased, or are being: SQL beside the functions that run it."""

from datetime import datetime
from uuid import UUID

from chassis import Connection


class BrandErasingError(ValueError):
    """Somebody makes a brand under a name that is not free yet; the message says when it will be."""

    def __init__(self, slug: str) -> None:
        super().__init__(
            f"'{slug}' is being erased: make it anew once every service has answered, as GET /v1/brands/{slug}/erasure shows"
        )


async def demand_not_erasing(connection: Connection, slug: str) -> None:
    """Raises BrandErasingError: not every service has removed what it had of a brand of this name."""
    if await connection.fetchval(
        "select exists (select from erasures where brand_slug = $1 and ended_at is null)", slug
    ):
        raise BrandErasingError(slug)


async def comes_too_late(
    connection: Connection, slug: str, sent_at: datetime, *, content_id: UUID | None = None
) -> bool:
    """Whether a brand of this name was erased after a message about it was sent, or the article that it names was deleted."""
    late: bool = await connection.fetchval(
        """
        select exists (select from erasures where brand_slug = $1 and asked_at >= $2)
            or exists (select from deleted_articles where content_id = $3)
        """,
        slug,
        sent_at,
        content_id,
    )
    return late
