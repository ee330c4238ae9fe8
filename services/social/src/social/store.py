"""SQL over feeds and their posts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg
import structlog

from chassis import Connection
from social.channels import FEED, Facet
from social.composing import ChannelDraft, TextCount
from social.domain import BrandSlug, FeedPost, PostId
from social.story import Story

log = structlog.get_logger(__name__)


MOST_COUNTED: Final = 1_000
"""Posts of a feed that are counted for its readers."""


@dataclass(frozen=True, slots=True)
class Feed:
    brand_slug: BrandSlug
    name: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class StoredPost:
    post: FeedPost
    posted_at: datetime


async def publish(
    connection: Connection,
    posts: Sequence[FeedPost],
    names: Mapping[BrandSlug, str],
    *,
    chains: Mapping[UUID, str | None],
) -> dict[UUID, tuple[BrandSlug, PostId]]:
    """Stores new posts; returns for each `content_id` the brand and id of its post.

    `names`: display name of each brand; `chains`: correlation id of the command by `content_id`, for the log.
    """
    if not posts:
        return {}
    # All batches lock rows in this order, so that two of them cannot deadlock.
    posts = sorted(posts, key=lambda post: post.post_id)
    slugs = sorted(names)
    rows = await connection.fetch(
        """
        with connected as (
            insert into accounts (brand_slug, channel, display_name)
            select brand_slug, $1, display_name from unnest($2::text[], $3::text[]) as new (brand_slug, display_name)
            on conflict (brand_slug, channel) do update set display_name = excluded.display_name
            where accounts.display_name <> excluded.display_name)
        insert into posts (post_id, brand_slug, content_id, channel, title, text, tags, link, story, drafts)
        select post_id, brand_slug, content_id, $1, title, text, tags::jsonb, link, story::jsonb, drafts::jsonb
        from unnest($4::uuid[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
             as new (post_id, brand_slug, content_id, title, text, tags, link, story, drafts)
        on conflict do nothing
        returning content_id, brand_slug, post_id
        """,
        FEED,
        slugs,
        [names[slug] for slug in slugs],
        [post.post_id for post in posts],
        [post.brand_slug for post in posts],
        [post.content_id for post in posts],
        [post.title for post in posts],
        [post.text for post in posts],
        [json.dumps(post.tags) for post in posts],
        [post.link for post in posts],
        [story_column(post) for post in posts],
        [drafts_column(post) for post in posts],
    )
    for row in rows:
        log.info(
            "post_is_out",
            brand=row["brand_slug"],
            content_id=str(row["content_id"]),
            channel=FEED,
            post_id=str(row["post_id"]),
            correlation_id=chains.get(row["content_id"]),
        )
    stand = {row["content_id"]: (BrandSlug(row["brand_slug"]), PostId(row["post_id"])) for row in rows}
    if there_before := [post.content_id for post in posts if post.content_id not in stand]:
        rows = await connection.fetch(
            "select content_id, brand_slug, post_id from posts where channel = $1 and content_id = any ($2::uuid[])",
            FEED,
            there_before,
        )
        stand |= {row["content_id"]: (BrandSlug(row["brand_slug"]), PostId(row["post_id"])) for row in rows}
    return stand


async def feeds(connection: Connection, limit: int) -> list[Feed]:
    """Feeds with at least one post, the latest change first."""
    rows = await connection.fetch(
        """
        select brand_slug, display_name, posted_at as changed_at
        from accounts, lateral (
            select posted_at from posts where (posts.brand_slug, posts.channel) = (accounts.brand_slug, accounts.channel)
            order by posted_at desc, post_id desc limit 1) as last
        where channel = $1
        order by changed_at desc, brand_slug
        limit $2
        """,
        FEED,
        limit,
    )
    return [_feed(row) for row in rows]


async def feed(connection: Connection, brand: BrandSlug) -> Feed | None:
    """The feed of a brand; None without a post. A feed of any length is found as fast."""
    row = await connection.fetchrow(
        """
        select brand_slug, display_name, posted_at as changed_at from accounts join posts using (brand_slug, channel)
        where brand_slug = $1 and channel = $2 order by posted_at desc, post_id desc limit 1
        """,
        brand,
        FEED,
    )
    return None if row is None else _feed(row)


async def count(connection: Connection, brand: BrandSlug) -> int:
    """How many posts the feed has; `MOST_COUNTED` + 1 stands for more than can be counted quickly."""
    counted: int = await connection.fetchval(
        "select count(*) from (select from posts where brand_slug = $1 and channel = $2 limit $3) as counted",
        brand,
        FEED,
        MOST_COUNTED + 1,
    )
    return counted


async def newest(
    connection: Connection, brand: BrandSlug, limit: int, *, before: UUID | None = None
) -> list[StoredPost]:
    """Posts of the brand's feed, the newest first; `before` is the id of the post that they follow."""
    follows = "true" if before is None else "(posted_at, post_id) < ($4::timestamptz, $5::uuid)"
    place = [] if before is None else await _place(connection, before)
    if place is None:
        return []
    rows = await connection.fetch(
        f"""
        select * from posts where brand_slug = $1 and channel = $2 and {follows}
        order by posted_at desc, post_id desc
        limit $3
        """,  # noqa: S608 - conditions of this function
        brand,
        FEED,
        limit,
        *place,
    )
    return [_post(row) for row in rows]


async def _place(connection: Connection, post_id: UUID) -> list[object] | None:
    """Where a post stands in its feed; None if there is no such post."""
    posted_at = await connection.fetchval("select posted_at from posts where post_id = $1", post_id)
    return None if posted_at is None else [posted_at, post_id]


async def post(connection: Connection, brand: BrandSlug, post_id: UUID) -> StoredPost | None:
    row = await connection.fetchrow(
        "select * from posts where post_id = $1 and brand_slug = $2 and channel = $3", post_id, brand, FEED
    )
    return None if row is None else _post(row)


def _feed(row: asyncpg.Record) -> Feed:
    return Feed(BrandSlug(row["brand_slug"]), row["display_name"], row["changed_at"])


def _post(row: asyncpg.Record) -> StoredPost:
    return StoredPost(
        FeedPost(
            post_id=PostId(row["post_id"]),
            brand_slug=BrandSlug(row["brand_slug"]),
            content_id=row["content_id"],
            channel=row["channel"],
            title=row["title"],
            text=row["text"],
            tags=tuple(json.loads(row["tags"])),
            link=row["link"],
            story=story_of(row["story"]),
            kept_drafts=drafts_of(row["drafts"]),
        ),
        row["posted_at"],
    )


def story_column(post: FeedPost) -> str | None:
    return None if post.story is None else json.dumps(post.story.as_json())


def drafts_column(post: FeedPost) -> str:
    return json.dumps([asdict(draft) for draft in post.kept_drafts])


def story_of(stored: str | None) -> Story | None:
    return None if stored is None else Story.of_json(json.loads(stored))


def drafts_of(stored: str) -> tuple[ChannelDraft, ...]:
    """Stored drafts of a post from a version that did not store stories."""
    return tuple(
        ChannelDraft(
            channel=draft["channel"],
            text=draft["text"],
            counts=tuple(TextCount(**count) for count in draft["counts"]),
            facets=tuple(Facet(**facet) for facet in draft["facets"]),
            api_text=draft["api_text"],
        )
        for draft in json.loads(stored)
    )
