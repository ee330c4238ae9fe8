"""A brand's other articles, as far as a new one is compared and linked with them."""

from array import array
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from chassis.coalescing import RequestCoalescer
from messaging import Database
from orchestrator.writing.body import prose_of
from orchestrator.writing.quality import fingerprint

COMPARED: Final = 500
"""Articles of a brand, the newest, that a new one is compared and linked with."""
_WITHOUT_FINGERPRINT: Final = 100
"""Of those from before there were fingerprints, so many are read to make one."""
_REMEMBERED: Final = 5_000
"""Articles of which a process remembers what they say: about 1 kB each."""
_BRANDS_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class Other:
    """An article of the brand, as far as another one is compared and linked with it."""

    content_id: UUID
    version: int
    keyword: str
    title: str
    published_url: str | None
    fingerprint: Collection[int]

    @property
    def address(self) -> str:
        """Where it can be seen, or else how the API finds it."""
        return self.published_url or f"/v1/content/{self.content_id}"


Known = Mapping[UUID, Other]
"""What was read of articles before; of one that says the same still, this is not read again."""


class Others:
    """Brands' articles as they are at the time. What they say is remembered, and read again where another version stands."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[str, dict[UUID, Other]] = OrderedDict()
        """By brand, the one that was asked for last at the end."""
        self._gathering: RequestCoalescer[str, Sequence[Other]] = RequestCoalescer(
            self._look, limit=_BRANDS_AT_ONCE
        )

    async def of(self, brand_slug: str) -> Sequence[Other]:
        """All but drafts that wait, the newest first."""
        return await self._gathering.get(brand_slug)

    async def bodies(self, content_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """Their Markdown."""
        async with self._database.connection() as connection:
            return await bodies_of(connection, content_ids)

    async def _look(self, slugs: Sequence[str]) -> Mapping[str, Sequence[Other]]:
        known = {
            content_id: other for slug in slugs for content_id, other in self._known.get(slug, {}).items()
        }
        async with self._database.connection() as connection:
            found = await others_of(connection, slugs, known=known)
        for slug, others in found.items():
            # What is not among them any more was deleted, or is too old: it is forgotten.
            self._known[slug] = {each.content_id: each for each in others}
            self._known.move_to_end(slug)
        while len(self._known) > 1 and sum(map(len, self._known.values())) > _REMEMBERED:
            self._known.popitem(last=False)
        return found


async def others_of(
    connection: Connection, slugs: Collection[str], *, but: Collection[UUID] = (), known: Known | None = None
) -> dict[str, list[Other]]:
    """Of each of the brands its articles, without those named and without drafts that wait; the newest first."""
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
            -- What is known is not looked up again.
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
    found: dict[str, list[Other]] = {slug: [] for slug in slugs}
    for row in rows:
        other = before[row["content_id"]] if row["title"] is None else _other(row)
        if other.published_url != row["published_url"]:
            other = replace(other, published_url=row["published_url"])
        found[row["slug"]].append(other)
    return found


def _other(row: asyncpg.Record) -> Other:
    stored = row["fingerprint"]
    return Other(
        row["content_id"],
        row["version"],
        row["keyword"],
        row["title"],
        row["published_url"],
        # As it is remembered: a set would take six times as much.
        array("q", fingerprint(prose_of(row["body"] or "")) if stored is None else stored),
    )


async def bodies_of(connection: Connection, content_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Their Markdown."""
    rows = await connection.fetch(
        "select content_id, body_markdown from content where content_id = any ($1::uuid[])", list(content_ids)
    )
    return {row["content_id"]: row["body_markdown"] for row in rows}
