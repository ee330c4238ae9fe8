"""SQL over articles and the steps of writing them, beside the functions that run it."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg
from pydantic import TypeAdapter

from chassis import Connection
from envelope.brand.payloads import ArticleContext, ContentPublished
from orchestrator.writing.article import Article, Source
from orchestrator.writing.body import prose_of
from orchestrator.writing.domain import free_slug
from orchestrator.writing.quality import Fingerprint, Measure, fingerprint

_COMPARED: Final = 500
"""Articles of a brand, the newest, that a new one is compared and linked with."""
_WITHOUT_FINGERPRINT: Final = 100
"""Of those from before there were fingerprints, so many are read to make one."""
_MEASURES: Final = TypeAdapter(tuple[Measure, ...])


@dataclass(frozen=True, slots=True)
class StoredContent:
    """An article as it was written, with the brand it was written for and where it can be seen."""

    content_id: UUID
    brand_slug: str
    brand_name: str
    brand_description: str
    brand_language: str
    keyword: str
    slug: str
    title: str
    meta_description: str
    body_markdown: str
    word_count: int
    key_points: tuple[str, ...]
    label: str | None
    sources: tuple[Mapping[str, Any], ...]
    """Each {n, title, url, path, licence, published_on}; the passages stay with research."""
    published_url: str | None
    held_for: tuple[str, ...]
    """Why it is not published before somebody has looked at it; empty if it may be."""
    measures: tuple[Measure, ...]
    """Empty for an article that was written before there were any."""
    taken_down_at: datetime | None
    """Since when its page is not to be seen."""
    version: int
    """Which of its versions this is; see versions.py."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Other:
    """An article of the brand, as far as another one is compared and linked with it."""

    content_id: UUID
    keyword: str
    title: str
    published_url: str | None
    fingerprint: Fingerprint

    @property
    def address(self) -> str:
        """Where it can be seen, or else how the API finds it."""
        return self.published_url or f"/v1/content/{self.content_id}"


async def insert_content(
    connection: Connection,
    *,
    content_id: UUID,
    brand_slug: str,
    keyword: str,
    research_id: UUID,
    article: Article,
    sources: Sequence[Source],
    measures: Sequence[Measure] = (),
    held_for: Sequence[str] = (),
    fingerprint: Fingerprint | None = None,
    subject: str | None = None,
) -> None:
    """Stores the article unless it is there already, under an address no other article of the brand has.

    `sources` are those that the article cites; of an article without a `subject` it is found from its keyword when somebody asks. With `held_for` it is a draft, whose address is settled once it may be
    published: until then it keeps no other article from having it.
    """
    wanted = f"{article.slug}-{content_id}" if held_for else article.slug
    slug = wanted
    while not await connection.fetchval(
        """
        insert into content (content_id, brand_slug, keyword, research_id, slug, title, meta_description,
                             body_markdown, word_count, key_points, label, sources, measures, held_for, fingerprint, subject)
        select $1, $2, $3, $4, $5::text, $6, $7, $8, $9, $10, $11, $12::text::jsonb, $13::text::jsonb, $14, $15, $16
        where not exists (select from former_addresses where brand_slug = $2 and slug = $5)
        on conflict do nothing returning true
        """,
        content_id,
        brand_slug,
        keyword,
        research_id,
        slug,
        article.title,
        article.meta_description,
        article.body_markdown,
        article.word_count,
        list(article.key_points),
        article.label,
        json.dumps(listed(sources)),
        _MEASURES.dump_json(tuple(measures)).decode(),
        list(held_for),
        None if fingerprint is None else sorted(fingerprint),
        subject,
    ):
        # The article is there already, or its address is taken: another one of the same title may have been stored
        # at this very moment, which only a new snapshot shows.
        taken = await connection.fetch(
            """
            select content_id, slug from content
            where content_id = $1 or (brand_slug = $2 and (slug = $3 or starts_with(slug, $3 || '-')))
            union all
            select null, slug from former_addresses where brand_slug = $2 and (slug = $3 or starts_with(slug, $3 || '-'))
            """,
            content_id,
            brand_slug,
            wanted,
        )
        if any(row["content_id"] == content_id for row in taken):
            return
        slug = free_slug(wanted, {row["slug"] for row in taken})


def listed(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """The sources as they are stored: what they are called and where they are, without their passages."""
    return [
        {
            "n": each.n,
            "title": each.title,
            "url": each.url,
            "path": each.path,
            "licence": each.licence,
            "published_on": each.published_on and each.published_on.isoformat(),
        }
        for each in sources
    ]


async def find_content(
    connection: Connection, content_id: UUID, brands: Collection[str] | None = None
) -> StoredContent | None:
    return next(iter(await find_contents(connection, [content_id], brands)), None)


async def find_contents(
    connection: Connection, content_ids: Sequence[UUID], brands: Collection[str] | None = None
) -> list[StoredContent]:
    """Those of them that exist, in no particular order; where `brands` are named, those that are theirs."""
    rows = await connection.fetch(
        """
        select content_id, brand_slug, b.name as brand_name, b.description as brand_description,
               b.language as brand_language, keyword, c.slug, title, meta_description, body_markdown, word_count,
               key_points, label, sources::text as sources, published_url, held_for, measures::text as measures,
               taken_down_at, version, c.created_at, c.updated_at
        from content as c join brands as b on b.slug = c.brand_slug
        where content_id = any ($1::uuid[]) and ($2::text[] is null or c.brand_slug = any ($2))
        """,
        list(content_ids),
        None if brands is None else list(brands),
    )
    return [_content(row) for row in rows]


def _content(row: asyncpg.Record) -> StoredContent:
    values = dict(row)
    values["key_points"] = tuple(row["key_points"])
    values["sources"] = tuple(json.loads(row["sources"]))
    values["held_for"] = tuple(row["held_for"])
    values["measures"] = _MEASURES.validate_json(row["measures"])
    return StoredContent(**values)


async def latest_titles(connection: Connection, brand_slug: str, limit: int) -> tuple[str, ...]:
    """Of the brand's articles, the newest first."""
    rows = await connection.fetch(
        """
        select title from content where brand_slug = $1 and held_for = '{}'
        order by created_at desc, content_id limit $2
        """,
        brand_slug,
        limit,
    )
    return tuple(row["title"] for row in rows)


async def other_articles(
    connection: Connection, brand_slug: str, *, but: Sequence[UUID]
) -> tuple[Other, ...]:
    """The brand's, without those named and without drafts that wait; the newest first."""
    rows = await connection.fetch(
        """
        select content_id, keyword, title, published_url, fingerprint,
               case when fingerprint is null and place <= $3 then body_markdown end as body
        from (
            select content_id, keyword, title, published_url, fingerprint, body_markdown,
                   row_number() over (order by created_at desc, content_id) as place
            from content where brand_slug = $1 and held_for = '{}' order by place limit $4
        ) as latest
        where content_id <> all ($2::uuid[]) order by place
        """,
        brand_slug,
        list(but),
        _WITHOUT_FINGERPRINT,
        _COMPARED,
    )
    return tuple(
        Other(
            row["content_id"],
            row["keyword"],
            row["title"],
            row["published_url"],
            fingerprint(prose_of(row["body"] or ""))
            if row["fingerprint"] is None
            else frozenset(row["fingerprint"]),
        )
        for row in rows
    )


async def bodies_of(connection: Connection, content_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Their Markdown."""
    rows = await connection.fetch(
        "select content_id, body_markdown from content where content_id = any ($1::uuid[])", list(content_ids)
    )
    return {row["content_id"]: row["body_markdown"] for row in rows}


async def lock_storing(connection: Connection) -> None:
    """Lets nobody else store an article until the transaction ends.

    One lock for all brands: articles of several are stored in one transaction, in any order, and whoever took the rows of
    their brands one after the other could stand in each other's way with the router, which takes them in another.
    """
    await connection.execute("select pg_advisory_xact_lock(hashtextextended('orchestrator.content', 0))")


async def article_contexts(connection: Connection, content_ids: Sequence[UUID]) -> dict[UUID, ArticleContext]:
    """What posts need to know of these articles, within the limits of the message; missing articles are left out."""
    rows = await connection.fetch(
        """
        select content_id, title, keyword, meta_description, key_points from content
        where content_id = any ($1::uuid[])
        """,
        list(content_ids),
    )
    return {
        row["content_id"]: ArticleContext(
            title=row["title"][:500],
            keyword=row["keyword"],
            meta_description=row["meta_description"][:1000],
            key_points=tuple(point[:2000] for point in row["key_points"][:20]),
        )
        for row in rows
    }


async def mark_published(connection: Connection, events: Sequence[ContentPublished]) -> None:
    """Notes where articles can be seen, as a later state of them says; what does not say of which state it is counts if nothing is known."""
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
