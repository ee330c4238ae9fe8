"""SQL over posts that wait and what was decided about them, beside the functions that run it.

Whoever decides holds the post's row lock.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from social.domain import BrandSlug, Post, PostId
from social.review.domain import Decided, Kind, Pending, PostState
from social.store import drafts_of

STATES: Final = {
    PostState.WAITING: "p.state = 'waiting' and p.publish_at is null",
    PostState.SCHEDULED: "p.state = 'waiting' and p.publish_at is not null",
    PostState.POSTED: "p.state = 'posted'",
    PostState.REJECTED: "p.state = 'rejected'",
}
OPEN: Final = "p.state = 'waiting'"

_POSTS: Final = """
    select p.*, d.decision as last_kind, d.version as last_version, d.comment, d.made_by, d.made_at
    from pending_posts as p left join lateral (
        select decision, version, comment, made_by, made_at from post_decisions
        where post_decisions.post_id = p.post_id order by decision_id desc limit 1
    ) as d on true
    where
"""


@dataclass(frozen=True, slots=True)
class Held:
    """A post that is to wait for a person."""

    post: Post
    display_name: str
    asked_as: tuple[str, ...]
    correlation_id: str | None


async def hold(
    connection: Connection, posts: Sequence[Held], content_ids: Sequence[UUID]
) -> dict[UUID, Pending]:
    """Has posts wait that are neither there nor out; returns those of these articles that wait or were rejected, by article."""
    if posts:
        # In one order everywhere, so that two batches wait for each other instead of locking each other out.
        ordered = sorted(posts, key=lambda held: held.post.post_id)
        await connection.execute(
            """
            insert into pending_posts (post_id, brand_slug, display_name, content_id, channel, asked_as, correlation_id,
                                       title, text, tags, link, drafts)
            select post_id, brand_slug, display_name, content_id, channel,
                   array(select jsonb_array_elements_text(asked_as::jsonb)), correlation_id, title, text, tags::jsonb, link, drafts::jsonb
            from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[],
                        $9::text[], $10::text[], $11::text[], $12::text[])
                 as new (post_id, brand_slug, display_name, content_id, channel, asked_as, correlation_id,
                         title, text, tags, link, drafts)
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
            [json.dumps([asdict(draft) for draft in held.post.drafts]) for held in ordered],
        )
    rows = await connection.fetch(
        f"{_POSTS} p.content_id = any ($1::uuid[]) and p.state <> 'posted'", list(content_ids)
    )
    return {row["content_id"]: _pending(row) for row in rows}


async def find(connection: Connection, post_id: UUID) -> Pending | None:
    row = await connection.fetchrow(f"{_POSTS} p.post_id = $1", post_id)
    return None if row is None else _pending(row)


async def lock(connection: Connection, post_id: UUID) -> Pending | None:
    """The post, locked until the transaction ends; None if there is none."""
    await connection.execute("select from pending_posts where post_id = $1 for update", post_id)
    return await find(connection, post_id)


async def claim_due(connection: Connection) -> Pending | None:
    """The post whose time came first, locked; those that another replica has in hand are passed over."""
    post_id: UUID | None = await connection.fetchval(
        """
        select post_id from pending_posts where state = 'waiting' and publish_at <= clock_timestamp()
        order by publish_at limit 1 for update skip locked
        """
    )
    return None if post_id is None else await find(connection, post_id)


async def until_next(connection: Connection) -> timedelta | None:
    """How long until the next is due (negative: it is overdue); None if none has a time."""
    due: timedelta | None = await connection.fetchval(
        "select min(publish_at) - clock_timestamp() from pending_posts where state = 'waiting'"
    )
    return due


async def page(
    connection: Connection,
    *,
    brands: Sequence[str] | None,
    state: PostState | None,
    after: int | None,
    limit: int,
) -> list[Pending]:
    """Of these brands, or of all, in the order in which they began to wait; those of one state, or else the open ones."""
    rows = await connection.fetch(
        f"""
        {_POSTS} {OPEN if state is None else STATES[state]}
          and ($1::text[] is null or p.brand_slug = any ($1)) and ($2::bigint is null or p.number > $2)
        order by p.number limit $3
        """,
        None if brands is None else list(brands),
        after,
        limit,
    )
    return [_pending(row) for row in rows]


async def count_pending(connection: Connection) -> dict[str, float]:
    """How many posts are open, by their state."""
    counted = (PostState.WAITING, PostState.SCHEDULED)
    columns = ", ".join(f"count(*) filter (where {STATES[state]}) as {state}" for state in counted)
    row = await connection.fetchrow(f"select {columns} from pending_posts as p where {OPEN}")  # noqa: S608
    assert row is not None
    return {state.value: float(row[state.value]) for state in counted}


async def decisions_of(connection: Connection, post_id: UUID, limit: int) -> list[Decided]:
    """The latest ones, edits included; the latest first."""
    rows = await connection.fetch(
        """
        select decision, version, comment, made_by, made_at from post_decisions
        where post_id = $1 order by decision_id desc limit $2
        """,
        post_id,
        limit,
    )
    return [Decided(Kind(row[0]), *row[1:]) for row in map(tuple, rows)]


async def note_decision(
    connection: Connection,
    pending: Pending,
    kind: Kind,
    version: int,
    *,
    by: str,
    comment: str = "",
    text: str | None = None,
) -> None:
    await connection.execute(
        "insert into post_decisions (post_id, version, decision, comment, made_by, text) values ($1, $2, $3, $4, $5, $6)",
        pending.post.post_id,
        version,
        kind.value,
        comment,
        by,
        text,
    )


async def set_text(connection: Connection, pending: Pending, text: str) -> None:
    """As the next version, which waits."""
    await connection.execute(
        "update pending_posts set text = $2, version = version + 1, publish_at = null where post_id = $1",
        pending.post.post_id,
        text,
    )


async def set_time(connection: Connection, pending: Pending, publish_at: datetime | None) -> bool:
    """Has it posted at that time, or at none. False, and nothing changed, if the time has gone by."""
    status = await connection.execute(
        """
        update pending_posts set publish_at = $2
        where post_id = $1 and ($2::timestamptz is null or $2 > clock_timestamp())
        """,
        pending.post.post_id,
        publish_at,
    )
    return status != "UPDATE 0"


async def set_ended(connection: Connection, pending: Pending, state: PostState) -> None:
    await connection.execute(
        "update pending_posts set state = $2, publish_at = null where post_id = $1",
        pending.post.post_id,
        state.value,
    )


def _pending(row: asyncpg.Record) -> Pending:
    last = None
    if row["last_kind"] is not None:
        last = Decided(
            Kind(row["last_kind"]), row["last_version"], row["comment"], row["made_by"], row["made_at"]
        )
    return Pending(
        post=Post(
            post_id=PostId(row["post_id"]),
            brand_slug=BrandSlug(row["brand_slug"]),
            content_id=row["content_id"],
            channel=row["channel"],
            title=row["title"],
            text=row["text"],
            tags=tuple(json.loads(row["tags"])),
            link=row["link"],
            drafts=drafts_of(row["drafts"]),
        ),
        number=row["number"],
        display_name=row["display_name"],
        asked_as=tuple(row["asked_as"]),
        correlation_id=row["correlation_id"],
        version=row["version"],
        ended=None if row["state"] == PostState.WAITING else PostState(row["state"]),
        publish_at=row["publish_at"],
        since=row["since"],
        last=last,
    )
