"""SQL over articles."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg

from chassis import Connection
from envelope.brand.payloads import ArticleContext, ContentGenerated, ContentPublished, ContentRefused
from orchestrator.article_workflow.domain import free_slug
from orchestrator.article_workflow.post_material import context_of
from orchestrator.article_workflow.versions import COLUMNS, VersionText, stored_text, text_of
from writing.article import Article, ArticleSource
from writing.body import Body
from writing.quality.likeness import Fingerprint
from writing.quality.measures import Measure

_MAX_DETAIL: Final = 2000


class StoredContent(VersionText):
    """A stored article with its brand and its public address."""

    content_id: UUID
    brand_slug: str
    brand_name: str
    brand_description: str
    brand_language: str
    keyword: str
    published_url: str | None
    held_for: tuple[str, ...]
    """Why it needs a person's approval; empty if it needs none."""
    taken_down_at: datetime | None
    """When its page was taken down; None if it was not."""
    version: int
    """The number of this version; see versions.py."""
    created_at: datetime
    updated_at: datetime


# The evidence is long, and read by itself.
_ELSEWHERE: Final = frozenset({"brand_name", "brand_description", "brand_language", "evidence"})
_STORED: Final = ", ".join(f"c.{name}" for name in StoredContent.model_fields if name not in _ELSEWHERE)
_INSERTED: Final = (
    f"content_id, brand_slug, keyword, research_id, held_for, fingerprint, subject_key, {COLUMNS}"
)


@dataclass(frozen=True, slots=True)
class NewContent:
    """An article to be stored."""

    content_id: UUID
    brand_slug: str
    keyword: str
    research_id: UUID
    article: Article
    sources: Sequence[ArticleSource]
    """The sources that it cites."""
    measures: Sequence[Measure] = ()
    held_for: Sequence[str] = ()
    fingerprint: Fingerprint | None = None
    subject_key: str | None = None

    @property
    def slug(self) -> str:
        """The address to request: for a draft with its id, so that it takes no address from other articles."""
        return f"{self.article.slug}-{self.content_id}" if self.held_for else self.article.slug

    def columns(self) -> dict[str, Any]:
        """Returns the row as JSON values, by column."""
        return {
            **text_of(self.article, self.sources, self.measures).model_dump(mode="json"),
            "content_id": str(self.content_id),
            "brand_slug": self.brand_slug,
            "keyword": self.keyword,
            "research_id": str(self.research_id),
            "slug": self.slug,
            "held_for": list(self.held_for),
            "fingerprint": None if self.fingerprint is None else sorted(self.fingerprint),
            "subject_key": self.subject_key,
        }


async def insert_content(connection: Connection, **content: Any) -> None:
    """Stores one article, given by the fields of `NewContent`, as `insert_contents` does."""
    await insert_contents(connection, [NewContent(**content)])


async def insert_contents(connection: Connection, new: Sequence[NewContent]) -> None:
    """Stores articles that are not stored yet, each under an address that no other article of its brand has.

    If several request the same address, the one with the smallest id, the oldest, gets it. A missing `subject_key` is
    derived from the keyword later. An article with `held_for` is a draft: its address is settled with its approval, and
    until then it blocks no other article.
    """
    wanted = {each.content_id: each for each in new}
    waiting = {content_id: each.columns() for content_id, each in wanted.items()}
    while waiting:
        inserted = await connection.fetch(
            f"""
            insert into content ({_INSERTED})
            select {_INSERTED} from json_populate_recordset(null::content, $1::text::json) as n
            where not exists (select from former_addresses as f where (f.brand_slug, f.slug) = (n.brand_slug, n.slug))
            order by n.content_id
            on conflict do nothing returning content_id
            """,  # noqa: S608  (names of columns)
            json.dumps(list(waiting.values()), ensure_ascii=False),
        )
        for row in inserted:
            del waiting[row["content_id"]]
        for content_id, columns in list(waiting.items()):
            # The article is stored already, or its address is taken: another one of the same title may have been stored
            # at this very moment. Only a new snapshot shows that.
            slug = await _free_slug(connection, wanted[content_id])
            if slug is None:
                del waiting[content_id]
            else:
                columns["slug"] = slug


async def _free_slug(connection: Connection, new: NewContent) -> str | None:
    """Returns a free address in place of a taken one; None if the article is stored already."""
    taken = await connection.fetch(
        """
        select content_id, slug from content
        where content_id = $1 or (brand_slug = $2 and (slug = $3 or starts_with(slug, $3 || '-')))
        union all
        select null, slug from former_addresses where brand_slug = $2 and (slug = $3 or starts_with(slug, $3 || '-'))
        """,
        new.content_id,
        new.brand_slug,
        new.slug,
    )
    if any(row["content_id"] == new.content_id for row in taken):
        return None
    return free_slug(new.slug, {row["slug"] for row in taken})


async def find_content(
    connection: Connection, content_id: UUID, brands: Collection[str] | None = None
) -> StoredContent | None:
    return next(iter(await find_contents(connection, [content_id], brands)), None)


async def find_contents(
    connection: Connection, content_ids: Sequence[UUID], brands: Collection[str] | None = None
) -> list[StoredContent]:
    """Returns the existing articles of these ids, unordered; with `brands`, only those of these brands."""
    rows = await connection.fetch(
        f"""
        select {_STORED}, b.name as brand_name, b.description as brand_description, b.language as brand_language
        from content as c join brands as b on b.slug = c.brand_slug
        where content_id = any ($1::uuid[]) and ($2::text[] is null or c.brand_slug = any ($2))
        """,  # noqa: S608  (names of columns)
        list(content_ids),
        None if brands is None else list(brands),
    )
    return [_content(row) for row in rows]


def _content(row: asyncpg.Record) -> StoredContent:
    return StoredContent(**{**row, **stored_text(row)})


async def latest_titles(connection: Connection, brand_slug: str, limit: int) -> tuple[str, ...]:
    """Returns the titles of the brand's articles, the newest first."""
    rows = await connection.fetch(
        """
        select title from content where brand_slug = $1 and held_for = '{}'
        order by created_at desc, content_id limit $2
        """,
        brand_slug,
        limit,
    )
    return tuple(row["title"] for row in rows)


async def lock_storing(connection: Connection) -> None:
    """Blocks other transactions that store articles until this one ends.

    One lock serves all brands. A transaction stores articles of several brands in any order; locks per brand could
    deadlock with the router, which locks brands in another order.
    """
    await connection.execute("select pg_advisory_xact_lock(hashtextextended('orchestrator.content', 0))")


async def article_contexts(connection: Connection, content_ids: Sequence[UUID]) -> dict[UUID, ArticleContext]:
    """Returns the context that social posts need, cut to the limits of the message; missing articles are left out."""
    rows = await connection.fetch(
        """
        select content_id, title, keyword, meta_description, key_points, body_markdown, sources::text as sources from content
        where content_id = any ($1::uuid[])
        """,
        list(content_ids),
    )
    return {
        row["content_id"]: context_of(
            title=row["title"],
            keyword=row["keyword"],
            meta_description=row["meta_description"],
            key_points=row["key_points"],
            body=Body(row["body_markdown"]),
            sources=json.loads(row["sources"]),
        )
        for row in rows
    }


async def stored_outcomes(
    connection: Connection, content_ids: Sequence[UUID]
) -> dict[UUID, ContentGenerated | ContentRefused]:
    """Returns the event that describes the present state of each stored article; missing articles are left out."""
    rows = await connection.fetch(
        """
        select content_id, brand_slug, keyword, word_count, held_for, decision from content
        where content_id = any ($1::uuid[])
        """,
        list(content_ids),
    )
    return {row["content_id"]: _stored_outcome(row) for row in rows}


def _stored_outcome(row: Any) -> ContentGenerated | ContentRefused:
    if row["decision"] == "rejected" or row["held_for"]:
        return ContentRefused(
            brand_slug=row["brand_slug"],
            content_id=row["content_id"],
            keyword=row["keyword"],
            reason="rejected" if row["decision"] == "rejected" else "needs_review",
            detail="; ".join(row["held_for"])[:_MAX_DETAIL],
        )
    return ContentGenerated(
        brand_slug=row["brand_slug"],
        content_id=row["content_id"],
        keyword=row["keyword"],
        word_count=row["word_count"],
    )


async def mark_published(connection: Connection, events: Sequence[ContentPublished]) -> None:
    """Stores the public addresses of articles; the event with the latest `as_of` wins.

    An event without `as_of` counts only if no address is stored yet.
    """
    await connection.execute(
        """
        update content as c
        set published_url = p.url, published_as_of = coalesce(p.as_of, published_as_of),
            updated_at = case when c.published_url is distinct from p.url then clock_timestamp() else updated_at end
        from (
            select distinct on (content_id) * from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[])
                as told (content_id, brand_slug, url, as_of)
            order by content_id, as_of desc nulls last
        ) as p
        where c.content_id = p.content_id and c.brand_slug = p.brand_slug
          and (c.published_url is null or p.as_of > coalesce(c.published_as_of, '-infinity'))
        """,
        [event.content_id for event in events],
        [event.brand_slug for event in events],
        [event.published_url for event in events],
        [event.as_of for event in events],
    )
