"""Short links in the publisher's database: each statement beside the function that runs it.

A code has ten characters for the article, and five for the post.
"""

import re
from base64 import b32encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from secrets import token_bytes
from typing import Final, NamedTuple
from uuid import UUID

from chassis import Connection
from publisher.domain import BrandSlug, PageSlug

_ARTICLE: Final = 10
"""50 random bits: too many to guess."""
_CODE: Final = re.compile(rf"([a-z2-7]{{{_ARTICLE}}})([a-z2-7]{{5}})?")


class ShortLinkCode(NamedTuple):
    article: str
    mark: str
    """Empty if the link belongs to no post."""


def new_code() -> str:
    """A new random code for an article."""
    return b32encode(token_bytes(_ARTICLE)).decode().lower()[:_ARTICLE]


def parse_code(text: str) -> ShortLinkCode | None:
    """The parts of a code; None if the text is not a valid code."""
    found = _CODE.fullmatch(text)
    return None if found is None else ShortLinkCode(found[1], found[2] or "")


class LinkedArticle(NamedTuple):
    """An article that needs a short link."""

    content_id: UUID
    brand: BrandSlug
    target: str
    """The target that is the article's home."""
    address: str | None
    """The site's own origin, if the brand has set one."""
    title: str | None = None
    """The title of an article without a page here."""


class LinkClick(NamedTuple):
    """The key of a click count; the mark is empty if it belongs to no known post."""

    content_id: UUID
    mark: str
    day: date


@dataclass(frozen=True, slots=True)
class ShortLinkDestination:
    """The article that a short link leads to."""

    content_id: UUID
    brand_slug: BrandSlug
    mark: str
    """Empty if it belongs to no known post."""
    slug: PageSlug | None
    """The slug of its page, if its home is the built-in site and the page is visible."""
    address: str | None
    """The site's own origin, if the brand has set one."""
    url: str | None
    """Its address, if its home is another target and it is public there."""


@dataclass(frozen=True, slots=True)
class ArticleMeasures:
    """An article's views on the built-in site, and clicks on its short links."""

    content_id: UUID
    title: str
    slug: PageSlug | None
    url: str | None
    views: int
    clicks: int

    @property
    def rank(self) -> int:
        """The position in lists: the larger count, because a click on a link to the built-in site is a view, too."""
        return max(self.views, self.clicks)


@dataclass(frozen=True, slots=True)
class PostClicks:
    """Clicks on a post's link; without a post, on the article's plain link or with an unknown mark."""

    content_id: UUID
    post_id: UUID | None
    channel: str | None
    account: str | None
    clicks: int


async def ensure_codes(connection: Connection, articles: Sequence[LinkedArticle]) -> dict[UUID, str]:
    """The codes of articles, existing or newly made; leaves out articles of other brands."""
    # The same order everywhere avoids deadlocks between two batches; each article once.
    ordered = sorted({each.content_id: each for each in articles}.values(), key=lambda each: each.content_id)
    rows = await connection.fetch(
        """
        insert into short_links as known (code, content_id, brand_slug, target, title)
        select * from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[])
        on conflict (content_id) do update set target = excluded.target, title = coalesce(excluded.title, known.title)
            where known.brand_slug = excluded.brand_slug
        returning content_id, code
        """,
        [new_code() for _ in ordered],
        [each.content_id for each in ordered],
        [each.brand for each in ordered],
        [each.target for each in ordered],
        [each.title for each in ordered],
    )
    return {row["content_id"]: row["code"] for row in rows}


async def assign_mark(
    connection: Connection,
    content_id: UUID,
    brand: str,
    mark: str,
    post_id: UUID,
    *,
    channel: str,
    account: str,
) -> bool:
    """Assigns a mark to a post; the first post keeps it. False if the article has no short link, or the mark is taken."""
    return bool(
        await connection.fetchval(
            """
            insert into link_marks as known (content_id, mark, post_id, channel, account)
            select content_id, $3, $4, $5, $6 from short_links where content_id = $1 and brand_slug = $2
            on conflict (content_id, mark) do update set channel = excluded.channel, account = excluded.account
                where known.post_id = excluded.post_id
            returning true
            """,
            content_id,
            brand,
            mark,
            post_id,
            channel,
            account,
        )
    )


async def find(connection: Connection, code: str, mark: str) -> ShortLinkDestination | None:
    row = await connection.fetchrow(
        """
        select l.content_id, l.brand_slug, coalesce(m.mark, '') as mark, s.address,
               case when l.target = 'site' and p.taken_down_at is null then p.slug end as slug,
               case when l.target <> 'site' and e.is_public then e.url end as url
        from short_links as l
            left join link_marks as m on (m.content_id, m.mark) = (l.content_id, $2)
            left join pages as p on p.content_id = l.content_id
            left join publications as e on (e.content_id, e.target) = (l.content_id, l.target)
            left join site_settings as s on s.brand_slug = l.brand_slug
        where l.code = $1
        """,
        code,
        mark,
    )
    return None if row is None else ShortLinkDestination(**row)


async def add(connection: Connection, counted: Mapping[LinkClick, int]) -> None:
    """Adds counts in the caller's transaction; skips brands that were erased meanwhile."""
    await connection.execute(
        """
        insert into link_clicks as known (content_id, mark, day, clicks)
        select content_id, counted.mark, counted.day, counted.clicks
        from unnest($1::uuid[], $2::text[], $3::date[], $4::integer[]) as counted (content_id, mark, day, clicks)
            join short_links using (content_id)
        -- In one order, so that no two replicas wait for each other.
        order by content_id, mark, day
        on conflict (content_id, mark, day) do update set clicks = known.clicks + excluded.clicks
        """,
        [each.content_id for each in counted],
        [each.mark for each in counted],
        [each.day for each in counted],
        list(counted.values()),
    )


async def by_day(connection: Connection, brand: BrandSlug, first: date, last: date) -> dict[date, int]:
    """Clicks of all articles of the brand; leaves out days without clicks."""
    rows = await connection.fetch(
        """
        select day, sum(clicks) as clicks from link_clicks join short_links using (content_id)
        where brand_slug = $1 and day between $2 and $3 group by day
        """,
        brand,
        first,
        last,
    )
    return {row["day"]: row["clicks"] for row in rows}


async def by_channel(connection: Connection, brand: BrandSlug, first: date, last: date) -> dict[str, int]:
    """Clicks by channel, most first; an empty channel stands for unknown posts."""
    rows = await connection.fetch(
        """
        select coalesce(channel, '') as channel, sum(clicks) as clicks
        from link_clicks join short_links using (content_id) left join link_marks using (content_id, mark)
        where brand_slug = $1 and day between $2 and $3 group by 1 order by 2 desc, 1
        """,
        brand,
        first,
        last,
    )
    return {row["channel"]: row["clicks"] for row in rows}


async def by_article(
    connection: Connection,
    brand: BrandSlug,
    first: date,
    last: date,
    *,
    after: tuple[int, UUID] | None,
    limit: int,
) -> list[ArticleMeasures]:
    """Articles with views or clicks, most first; `after` is rank and id of the last one on the previous page."""
    rows = await connection.fetch(
        """
        with counted as (
            select content_id, views, 0 as clicks from page_views join pages using (content_id)
            where brand_slug = $1 and day between $2 and $3
            union all
            select content_id, 0, clicks from link_clicks join short_links using (content_id)
            where brand_slug = $1 and day between $2 and $3
        ), each as (
            select content_id, sum(views) as views, sum(clicks) as clicks from counted group by content_id
        )
        select each.content_id, coalesce(p.title, l.title, '') as title, each.views, each.clicks,
               case when coalesce(l.target, 'site') = 'site' then p.slug end as slug, e.url
        from each
            left join pages as p using (content_id)
            left join short_links as l using (content_id)
            left join publications as e on (e.content_id, e.target) = (l.content_id, l.target)
        where $4::bigint is null or (greatest(each.views, each.clicks), each.content_id) < ($4::bigint, $5::uuid)
        order by greatest(each.views, each.clicks) desc, each.content_id desc limit $6
        """,
        brand,
        first,
        last,
        *(after or (None, None)),
        limit,
    )
    return [ArticleMeasures(**row) for row in rows]


async def by_post(
    connection: Connection, articles: Sequence[UUID], first: date, last: date
) -> list[PostClicks]:
    """Clicks by post of these articles, most first."""
    rows = await connection.fetch(
        """
        select content_id, post_id, channel, account, sum(clicks) as clicks
        from link_clicks left join link_marks using (content_id, mark)
        where content_id = any ($1::uuid[]) and day between $2 and $3
        group by content_id, post_id, channel, account order by sum(clicks) desc, post_id
        """,
        list(articles),
        first,
        last,
    )
    return [PostClicks(**row) for row in rows]
