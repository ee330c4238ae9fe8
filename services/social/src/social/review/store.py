"""SQL over posts under review and their decisions.

A decision holds the post's row lock.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from review.decisions import RecordedDecision
from review.rules import PostState
from social.domain import BrandSlug, FeedPost, PostId, PostRefusal
from social.review.domain import PendingPost
from social.sending import store as sending
from social.sending.domain import ChannelPostState
from social.store import drafts_column, drafts_of, story_column, story_of

STATES: Final = {
    PostState.WAITING: "p.state = 'waiting' and p.publish_at is null",
    PostState.SCHEDULED: "p.state = 'waiting' and p.publish_at is not null",
    PostState.POSTED: "p.state = 'posted'",
    PostState.REJECTED: "p.state = 'rejected'",
}
OPEN: Final = "p.state = 'waiting'"
ELSEWHERE: Final = {
    **{state: f"p.state = '{state}'" for state in PostState},
    PostState.SCHEDULED: "p.state = 'planned'",
    PostState.SENDING: "p.state in ('new', 'sending')",
}
OPEN_ELSEWHERE: Final = "p.state in ('new', 'waiting', 'planned', 'sending', 'in_doubt')"


def _with_decision(posts: str, decisions: str) -> str:
    return f"""
        select p.*, d.last
        from {posts} as p left join lateral (
            select (decision, version, comment, made_by, made_at) as last from {decisions}
            where {decisions}.post_id = p.post_id order by decision_id desc limit 1
        ) as d on true
        where
    """  # noqa: S608  (names of our own)


_POSTS: Final = _with_decision("pending_posts", "post_decisions")
_POSTS_ELSEWHERE: Final = _with_decision("channel_posts", "channel_post_decisions")


@dataclass(frozen=True, slots=True)
class HeldPost:
    """A new post for review."""

    post: FeedPost
    display_name: str
    asked_as: tuple[str, ...]
    correlation_id: str | None


async def hold(
    connection: Connection, posts: Sequence[HeldPost], content_ids: Sequence[UUID]
) -> dict[UUID, PendingPost]:
    """Stores posts for review unless they exist; returns the waiting and rejected posts of these articles, by article."""
    if posts:
        # All batches lock rows in this order, so that two of them cannot deadlock.
        ordered = sorted(posts, key=lambda held: held.post.post_id)
        await connection.execute(
            """
            insert into pending_posts (post_id, brand_slug, display_name, content_id, channel, asked_as, correlation_id,
                                       title, text, tags, link, story, drafts)
            select post_id, brand_slug, display_name, content_id, channel,
                   array(select jsonb_array_elements_text(asked_as::jsonb)), correlation_id, title, text, tags::jsonb, link,
                   story::jsonb, drafts::jsonb
            from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[],
                        $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
                 as new (post_id, brand_slug, display_name, content_id, channel, asked_as, correlation_id,
                         title, text, tags, link, story, drafts)
            where not exists (
                select from posts where posts.content_id = new.content_id and posts.channel = new.channel)
            on conflict do nothing
            """,
            [held.post.post_id for held in ordered],
            [held.post.brand_slug for held in ordered],
            [held.display_name for held in ordered],
            [held.post.content_id for held in ordered],
            [held.post.channel for held in ordered],
            [json.dumps(held.asked_as) for held in ordered],
            [held.correlation_id for held in ordered],
            [held.post.title for held in ordered],
            [held.post.text for held in ordered],
            [json.dumps(held.post.tags) for held in ordered],
            [held.post.link for held in ordered],
            [story_column(held.post) for held in ordered],
            [drafts_column(held.post) for held in ordered],
        )
    rows = await connection.fetch(
        f"{_POSTS} p.content_id = any ($1::uuid[]) and p.state <> 'posted'", list(content_ids)
    )
    return {row["content_id"]: _pending(row) for row in rows}


async def find(connection: Connection, post_id: UUID) -> PendingPost | None:
    row = await connection.fetchrow(f"{_POSTS} p.post_id = $1", post_id)
    if row is not None:
        return _pending(row)
    row = await connection.fetchrow(f"{_POSTS_ELSEWHERE} p.post_id = $1", post_id)
    if row is not None:
        return _elsewhere(row)
    row = await connection.fetchrow("select * from posts where post_id = $1", post_id)
    return None if row is None else _unreviewed(row)


async def lock(connection: Connection, post_id: UUID) -> PendingPost | None:
    """Locks the post until the transaction ends; None if it does not exist."""
    await connection.execute("select from pending_posts where post_id = $1 for update", post_id)
    await connection.execute("select from channel_posts where post_id = $1 for update", post_id)
    return await find(connection, post_id)


async def claim_due(connection: Connection, post_id: UUID | None = None) -> PendingPost | None:
    """Locks the longest due post, or this one if it is due; skips posts that another replica has locked."""
    found: UUID | None = await connection.fetchval(
        """
        select post_id from pending_posts
        where state = 'waiting' and greatest(publish_at, held_until) <= clock_timestamp() and publish_at is not null
          and ($1::uuid is null or post_id = $1)
        order by publish_at limit 1 for update skip locked
        """,
        post_id,
    )
    return None if found is None else await find(connection, found)


async def postpone(connection: Connection, post_id: UUID, pause: timedelta) -> None:
    """Holds a due post back for a while; it keeps its time."""
    await connection.execute(
        "update pending_posts set held_until = clock_timestamp() + $2::interval where post_id = $1",
        post_id,
        pause,
    )


async def until_next(connection: Connection) -> timedelta | None:
    """Time until the next post is due, negative if overdue; None if no post has a time."""
    due: timedelta | None = await connection.fetchval(
        "select min(greatest(publish_at, held_until)) - clock_timestamp() from pending_posts"
        " where state = 'waiting' and publish_at is not null"
    )
    return due


async def page(
    connection: Connection,
    *,
    brands: Sequence[str] | None,
    state: PostState | None,
    after: int | None,
    limit: int,
) -> list[PendingPost]:
    """Posts of these brands, or of all, in the order of their creation; of one state, or else all open ones."""
    wanted = """
          and ($1::text[] is null or p.brand_slug = any ($1)) and ($2::bigint is null or p.number > $2)
        order by p.number limit $3
    """
    asked = (None if brands is None else list(brands), after, limit)
    found: list[PendingPost] = []
    if state is None or state in STATES:
        rows = await connection.fetch(f"{_POSTS} {OPEN if state is None else STATES[state]} {wanted}", *asked)
        found += map(_pending, rows)
    condition = OPEN_ELSEWHERE if state is None else ELSEWHERE[state]
    rows = await connection.fetch(f"{_POSTS_ELSEWHERE} {condition} {wanted}", *asked)
    found += map(_elsewhere, rows)
    # Both tables take their numbers from one sequence.
    return sorted(found, key=lambda pending: pending.number)[:limit]


async def count_pending(connection: Connection) -> dict[str, float]:
    """Number of open posts by state."""
    counted = (PostState.WAITING, PostState.SCHEDULED)
    columns = ", ".join(f"count(*) filter (where {STATES[state]}) as {state}" for state in counted)
    row = await connection.fetchrow(f"select {columns} from pending_posts as p where {OPEN}")  # noqa: S608
    assert row is not None
    return {state.value: float(row[state.value]) for state in counted}


async def decisions_of(connection: Connection, post_id: UUID, limit: int) -> list[RecordedDecision]:
    """The latest decisions about a post, the newest first, edits included."""
    rows = await connection.fetch(
        """
        select decision, version, comment, made_by, made_at from (
            select * from post_decisions where post_id = $1 union all
            select * from channel_post_decisions where post_id = $1
        ) as made order by decision_id desc limit $2
        """,
        post_id,
        limit,
    )
    return [RecordedDecision(*row) for row in rows]


async def note_decision(
    connection: Connection, pending: PendingPost, made: RecordedDecision, text: str | None
) -> None:
    table = "post_decisions" if pending.sent is None else "channel_post_decisions"
    await connection.execute(
        f"insert into {table} (post_id, version, decision, comment, made_by, text) values ($1, $2, $3, $4, $5, $6)",  # noqa: S608
        pending.post.post_id,
        made.version,
        made.decision,
        made.comment,
        made.by,
        text,
    )


async def set_text(connection: Connection, pending: PendingPost, text: str) -> None:
    """Stores a text as the next version, which waits for review."""
    if pending.sent is not None:
        await sending.wait(connection, pending.post.post_id, text=text)
        return
    await connection.execute(
        "update pending_posts set text = $2, version = version + 1, publish_at = null where post_id = $1",
        pending.post.post_id,
        text,
    )


async def set_time(connection: Connection, pending: PendingPost, publish_at: datetime | None) -> None:
    """Sets or cancels the time of a post."""
    post_id = pending.post.post_id
    if pending.sent is None:
        await connection.execute(
            "update pending_posts set publish_at = $2, held_until = null where post_id = $1",
            post_id,
            publish_at,
        )
    elif publish_at is None:
        await sending.wait(connection, post_id)
    else:
        await sending.plan(connection, post_id, publish_at)


async def set_ended(connection: Connection, pending: PendingPost, state: PostState, why: str = "") -> None:
    if pending.sent is not None:
        refusal = PostRefusal(state.value, why)
        await sending.end(connection, pending.post.post_id, ChannelPostState(state.value), why=refusal)
        return
    await connection.execute(
        "update pending_posts set state = $2, publish_at = null where post_id = $1",
        pending.post.post_id,
        state.value,
    )


async def reopen(connection: Connection, pending: PendingPost) -> None:
    """Lets a rejected post wait for review again."""
    if pending.sent is not None:
        await sending.wait(connection, pending.post.post_id)
        return
    await connection.execute(
        "update pending_posts set state = 'waiting' where post_id = $1", pending.post.post_id
    )


def _last(row: asyncpg.Record) -> RecordedDecision | None:
    return None if row["last"] is None else RecordedDecision(*row["last"])


def _elsewhere(row: asyncpg.Record) -> PendingPost:
    sent = sending.channel_post(row)
    ended = None
    if sent.state is ChannelPostState.NEW:
        ended = PostState.SENDING
    elif sent.state not in {ChannelPostState.WAITING, ChannelPostState.PLANNED}:
        ended = PostState(sent.state.value)
    return PendingPost(
        post=FeedPost(
            post_id=sent.post_id,
            brand_slug=sent.brand_slug,
            content_id=sent.content_id,
            channel=sent.channel or sent.asked_as,
            title=sent.material.story.title,
            text=sent.text or "",
            tags=sent.tags,
            link=sent.material.story.link,
        ),
        number=sent.number,
        display_name="",
        asked_as=(sent.asked_as,),
        correlation_id=sent.correlation_id,
        version=sent.version,
        ended=ended,
        publish_at=sent.due_at if sent.state is ChannelPostState.PLANNED else None,
        since=sent.since,
        last=_last(row),
        sent=sent,
    )


def _unreviewed(row: asyncpg.Record) -> PendingPost:
    """A post that went to the feed without review; it has no row among the pending ones."""
    return PendingPost(
        post=_feed_post(row),
        number=0,
        display_name="",
        asked_as=(row["channel"],),
        correlation_id=None,
        version=1,
        ended=PostState.POSTED,
        publish_at=None,
        since=row["posted_at"],
        last=None,
    )


def _feed_post(row: asyncpg.Record) -> FeedPost:
    return FeedPost(
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
    )


def _pending(row: asyncpg.Record) -> PendingPost:
    return PendingPost(
        post=_feed_post(row),
        number=row["number"],
        display_name=row["display_name"],
        asked_as=tuple(row["asked_as"]),
        correlation_id=row["correlation_id"],
        version=row["version"],
        ended=None if row["state"] == PostState.WAITING else PostState(row["state"]),
        publish_at=row["publish_at"],
        since=row["since"],
        last=_last(row),
    )
