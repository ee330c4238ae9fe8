"""Reads a brand's other articles, to compare a new one with them and link it to them."""

from array import array
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from chassis.coalescing import RequestCoalescer
from messaging import Database
from orchestrator.article_workflow.domain import wishes_of
from orchestrator.brands import BrandRow
from writing.article import Article
from writing.body import prose_of
from writing.judging import SiblingArticle, measure_edited
from writing.quality import Measure, fingerprint

COMPARED: Final = 500
"""The number of a brand's newest articles to compare and link with."""
_WITHOUT_FINGERPRINT: Final = 100
"""The most articles without a stored fingerprint that are read to compute one."""
_REMEMBERED: Final = 5_000
"""Cached articles per process, of about 1 kB each."""
_BRANDS_AT_ONCE: Final = 20


Known = Mapping[UUID, SiblingArticle]
"""Cached articles by id; an unchanged version is not read again."""


class SiblingArticles:
    """Reads the present articles of brands; caches them, and reads new versions again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[str, dict[UUID, SiblingArticle]] = OrderedDict()
        """By brand, the most recently used last."""
        self._gathering: RequestCoalescer[str, Sequence[SiblingArticle]] = RequestCoalescer(
            self._load_brands, limit=_BRANDS_AT_ONCE
        )

    async def load(self, brand_slug: str) -> Sequence[SiblingArticle]:
        """Returns the brand's articles except waiting drafts, the newest first."""
        return await self._gathering.get(brand_slug)

    async def bodies(self, content_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """Their Markdown."""
        async with self._database.connection() as connection:
            return await load_bodies(connection, content_ids)

    async def _load_brands(self, slugs: Sequence[str]) -> Mapping[str, Sequence[SiblingArticle]]:
        known = {
            content_id: other for slug in slugs for content_id, other in self._known.get(slug, {}).items()
        }
        async with self._database.connection() as connection:
            found = await load_siblings(connection, slugs, known=known)
        for slug, others in found.items():
            # Forget articles that were deleted or are too old.
            self._known[slug] = {each.content_id: each for each in others}
            self._known.move_to_end(slug)
        while len(self._known) > 1 and sum(map(len, self._known.values())) > _REMEMBERED:
            self._known.popitem(last=False)
        return found


async def load_siblings(
    connection: Connection, slugs: Collection[str], *, but: Collection[UUID] = (), known: Known | None = None
) -> dict[str, list[SiblingArticle]]:
    """Returns the articles of each brand, except waiting drafts and the ids in `but`; the newest first."""
    before = known or {}
    rows = await connection.fetch(
        """
        select b.slug, latest.content_id, latest.version, latest.published_url, keyword, title, fingerprint,
               case when fingerprint is null and place <= $4 then body_markdown end as body
        from unnest($1::text[]) as b (slug) cross join lateral (
            select newest.*, row_number() over () as place
            from (
                select content_id, version, published_url from content
                where brand_slug = b.slug and held_for = '{}' order by created_at desc, content_id limit $3
            ) as newest
        ) as latest
            left join unnest($5::uuid[], $6::int[]) as known (content_id, version) using (content_id, version)
            -- Cached articles are not read again.
            left join content as c on c.content_id = case when known.content_id is null then latest.content_id end
        where latest.content_id <> all ($2::uuid[]) order by b.slug, place
        """,
        list(slugs),
        list(but),
        COMPARED,
        _WITHOUT_FINGERPRINT,
        list(before),
        [each.version for each in before.values()],
    )
    found: dict[str, list[SiblingArticle]] = {slug: [] for slug in slugs}
    for row in rows:
        other = before[row["content_id"]] if row["title"] is None else _other(row)
        if other.published_url != row["published_url"]:
            other = replace(other, published_url=row["published_url"])
        found[row["slug"]].append(other)
    return found


def _other(row: asyncpg.Record) -> SiblingArticle:
    stored = row["fingerprint"]
    return SiblingArticle(
        row["content_id"],
        row["version"],
        row["keyword"],
        row["title"],
        row["published_url"],
        # An array, for the cache: a set would take six times as much.
        array("q", fingerprint(prose_of(row["body"] or "")) if stored is None else stored),
    )


async def load_bodies(connection: Connection, content_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Their Markdown."""
    rows = await connection.fetch(
        "select content_id, body_markdown from content where content_id = any ($1::uuid[])", list(content_ids)
    )
    return {row["content_id"]: row["body_markdown"] for row in rows}


async def measure_draft(
    database: Database,
    brand: BrandRow,
    *,
    content_id: UUID,
    keyword: str,
    article: Article,
    before: Sequence[Measure],
) -> tuple[Measure, ...]:
    """Measures a draft that a person edited; `before` are the earlier measures."""
    async with database.connection() as connection:
        others = await load_siblings(connection, [brand.slug], but=[content_id])
    return await measure_edited(
        article,
        keyword=keyword,
        others=others[brand.slug],
        read=SiblingArticles(database).bodies,
        wishes=wishes_of(brand),
        before=before,
    )
