"""Records of deleted articles and of erased brands, which identify late messages: SQL beside the functions that run it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import UUID

from chassis import Connection
from chassis.http.problem_codes import RefusalError
from orchestrator import problem_codes as codes

_COLUMNS: Final = "content_id, brand_slug, address, published_url, deleted_at, deleted_by, reason"


@dataclass(frozen=True, slots=True)
class DeletedArticle:
    """The record of a deleted article."""

    content_id: UUID
    brand_slug: str
    address: str
    """The last part of its page's address."""
    published_url: str | None
    deleted_at: datetime
    deleted_by: str
    reason: str

    def __str__(self) -> str:
        when = f"{self.deleted_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        return f"article {self.content_id} was deleted by {self.deleted_by} on {when}: {self.reason}"


class DeletedArticleError(RefusalError):
    """The article was deleted; the message names the time and the caller."""

    def __init__(self, article: DeletedArticle) -> None:
        super().__init__(codes.ARTICLE_DELETED, str(article))


async def find_deleted(
    connection: Connection, content_id: UUID, brands: Collection[str] | None = None
) -> DeletedArticle | None:
    """The record of a deleted article, of one of these `brands` if they are named, or None."""
    row = await connection.fetchrow(
        f"select {_COLUMNS} from deleted_articles"  # noqa: S608  (names of columns)
        " where content_id = $1 and ($2::text[] is null or brand_slug = any ($2))",
        content_id,
        None if brands is None else list(brands),
    )
    return None if row is None else DeletedArticle(**row)


async def deleted_among(connection: Connection, content_ids: Collection[UUID]) -> set[UUID]:
    """The deleted articles among these."""
    rows = await connection.fetch(
        "select content_id from deleted_articles where content_id = any ($1::uuid[])", list(content_ids)
    )
    return {row["content_id"] for row in rows}


async def insert_deleted(
    connection: Connection,
    content_id: UUID,
    brand_slug: str,
    *,
    address: str,
    published_url: str | None,
    by: str,
    reason: str,
) -> DeletedArticle:
    row = await connection.fetchrow(
        f"""
        insert into deleted_articles (content_id, brand_slug, address, published_url, deleted_by, reason)
        values ($1, $2, $3, $4, $5, $6) returning {_COLUMNS}
        """,  # noqa: S608  (names of columns)
        content_id,
        brand_slug,
        address,
        published_url,
        by,
        reason,
    )
    assert row is not None
    return DeletedArticle(**row)


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
