"""SQL over posts on other platforms. Only the database's clock counts."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from chassis import Connection
from envelope import Message
from envelope.brand.payloads import WorkFinished
from envelope.brand.work import sending_id
from messaging import Transaction
from social.domain import PostRefusal
from social.sending.domain import (
    ChannelPost,
    ChannelPostState,
    ChannelRules,
    ChannelText,
    NewChannelPost,
    PostMaterial,
    SendingAccount,
)


async def report_sent(tx: Transaction, post: ChannelPost, caused_by: Message | None = None) -> None:
    """Publishes `work.finished` if an earlier command for the post failed; None: a person confirmed the post."""
    finished_by: UUID | None = None if caused_by is None else caused_by.event_id
    if post.ended_by is None or post.ended_by == finished_by:
        return
    now: datetime = await tx.connection.fetchval("select clock_timestamp()")
    report = WorkFinished(
        brand_slug=post.brand_slug,
        work_id=sending_id(post.brand_slug, post.post_id),
        covers_until=now,
        finished_at=now,
        finished_by=finished_by,
    )
    tx.send(report, caused_by=caused_by, correlation_id=post.correlation_id)


async def add(connection: Connection, posts: Sequence[NewChannelPost]) -> set[UUID]:
    """Stores new posts; returns the ids of those that need a `post.send`.

    A post that was announced before the database lost its row is stored as posted.
    """
    if not posts:
        return set()
    # In one order everywhere, so that two batches wait for each other instead of locking each other out.
    ordered = sorted(posts, key=lambda post: post.post_id)
    rows = await connection.fetch(
        """
        insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, correlation_id, material, approval,
                                   state, post_url, posted_at, may_be_out_since)
        select post_id, brand_slug, content_id, asked_as, entry, correlation_id, material::jsonb, approval,
               case when posted_as is null then 'new' else 'posted' end, posted_as,
               case when posted_as is not null then clock_timestamp() end, asked_since
        from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                    $10::timestamptz[])
             as new (post_id, brand_slug, content_id, asked_as, entry, correlation_id, material, approval, posted_as, asked_since)
        on conflict do nothing
        returning post_id, state
        """,
        [post.post_id for post in ordered],
        [post.brand_slug for post in ordered],
        [post.content_id for post in ordered],
        [post.asked_as for post in ordered],
        [post.entry for post in ordered],
        [post.correlation_id for post in ordered],
        [json.dumps(post.material.as_json()) for post in ordered],
        [post.approval for post in ordered],
        [post.posted_as for post in ordered],
        [post.asked_since for post in ordered],
    )
    return {row["post_id"] for row in rows if row["state"] == "new"}


async def note_known(connection: Connection, posts: Sequence[NewChannelPost]) -> None:
    """Marks announced posts as posted after the database lost that state."""
    known = sorted((post for post in posts if post.posted_as is not None), key=lambda post: post.post_id)
    if known:
        await connection.execute(
            """
            update channel_posts as p set state = 'posted', post_url = known.url, posted_at = clock_timestamp(), reason = '', detail = '',
                   ended_by = null, retry_at = null, held_until = null, claimed_at = null
            from unnest($1::uuid[], $2::text[], $3::text[]) as known (post_id, brand_slug, url)
            where (p.post_id, p.brand_slug) = (known.post_id, known.brand_slug)
              and p.state in ('new', 'waiting', 'planned', 'sending', 'in_doubt')
            """,
            [post.post_id for post in known],
            [post.brand_slug for post in known],
            [post.posted_as for post in known],
        )


async def note_loss(connection: Connection, kept_until: datetime) -> None:
    """Marks posts that may be out since then under lost rows, so that a look-up precedes their sending."""
    await connection.execute(
        """
        update channel_posts set may_be_out_since = coalesce(may_be_out_since, $1)
        where state in ('new', 'sending') or (state = 'planned' and due_at <= clock_timestamp())
        """,
        kept_until,
    )


async def named(connection: Connection, post_ids: Sequence[UUID]) -> dict[UUID, ChannelPost]:
    """The posts with these ids; unknown ids are left out."""
    if not post_ids:
        return {}
    rows = await connection.fetch(
        "select * from channel_posts where post_id = any ($1::uuid[])", list(post_ids)
    )
    return {row["post_id"]: channel_post(row) for row in rows}


async def find(connection: Connection, post_id: UUID) -> ChannelPost | None:
    return (await named(connection, [post_id])).get(post_id)


async def lock(connection: Connection, post_id: UUID) -> ChannelPost | None:
    """Locks the post until the transaction ends; None if it does not exist."""
    row = await connection.fetchrow("select * from channel_posts where post_id = $1 for update", post_id)
    return None if row is None else channel_post(row)


async def addresses_elsewhere(connection: Connection, content_id: UUID) -> dict[str, list[str]]:
    """Addresses of an article's published posts by channel, in the order of their creation."""
    rows = await connection.fetch(
        """
        select channel, post_url from channel_posts
        where content_id = $1 and state = 'posted' and channel is not null and post_url is not null order by number
        """,
        content_id,
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["channel"], []).append(row["post_url"])
    return found


async def settle(
    connection: Connection, post_id: UUID, account: SendingAccount, text: ChannelText, material: PostMaterial
) -> bool:
    """Stores account, text and material. Returns False and changes nothing if the account has another post about the article."""
    status = await connection.execute(
        """
        update channel_posts as p
        set channel = $2, account = $3, text = $4, tags = $5::jsonb, placement = $6, material = $7::jsonb
        where post_id = $1 and not exists (
            select from channel_posts as other
            where other.content_id = p.content_id and other.occurrence = p.occurrence and other.account = $3
              and other.post_id <> p.post_id)
        """,
        post_id,
        account.kind,
        account.name,
        text.text,
        json.dumps(text.tags),
        text.placement,
        json.dumps(material.as_json()),
    )
    return status != "UPDATE 0"


async def wait(connection: Connection, post_id: UUID, *, text: str | None = None) -> None:
    """Makes a post wait for review; a new text makes a new version."""
    await connection.execute(
        """
        update channel_posts set state = 'waiting', due_at = null, held_until = null, reason = '', detail = '',
               text = coalesce($2, text), version = version + case when $2::text is null then 0 else 1 end
        where post_id = $1
        """,
        post_id,
        text,
    )


async def begin_anew(connection: Connection, post_id: UUID) -> None:
    """Resets a post to NEW, so that its account is determined again; the failed command stays stored until it is out."""
    await connection.execute(
        "update channel_posts set state = 'new', reason = '', detail = '' where post_id = $1",
        post_id,
    )


async def plan(
    connection: Connection, post_id: UUID, due_at: datetime | None = None, *, in_queue: bool = False
) -> None:
    """Plans a post for a time, which may be a slot of its account, or for now."""
    await connection.execute(
        """
        update channel_posts set state = 'planned', due_at = coalesce($2, clock_timestamp()), held_until = null,
               claimed_at = null, retry_at = null, reason = '', detail = '', in_queue = $3,
               moves = moves + (due_at is not null)::int, moved_at = clock_timestamp()
        where post_id = $1
        """,
        post_id,
        due_at,
        in_queue,
    )


async def hold(connection: Connection, post_id: UUID, pause: timedelta, why: PostRefusal) -> None:
    """Holds a due post back for a pause; it stays due."""
    await connection.execute(
        """
        update channel_posts set state = 'planned', held_until = clock_timestamp() + $2::interval, claimed_at = null,
               retry_at = null, reason = $3, detail = $4
        where post_id = $1 and state = 'sending'
        """,
        post_id,
        pause,
        why.reason,
        why.detail,
    )


async def begin(connection: Connection, post_id: UUID) -> datetime:
    """The time of the first attempt; now, if this is certainly the first."""
    begun_at: datetime = await connection.fetchval(
        """
        update channel_posts set begun_at = coalesce(begun_at, may_be_out_since, clock_timestamp())
        where post_id = $1 returning begun_at
        """,
        post_id,
    )
    return begun_at


async def retry(connection: Connection, post_id: UUID, pause: timedelta, why: PostRefusal) -> None:
    """Stores why a post is not out yet, and the time of its next attempt."""
    await connection.execute(
        """
        update channel_posts set state = 'sending', retry_at = clock_timestamp() + $2::interval, reason = $3, detail = $4
        where post_id = $1
        """,
        post_id,
        pause,
        why.reason,
        why.detail,
    )


async def end(
    connection: Connection,
    post_id: UUID,
    state: ChannelPostState,
    *,
    why: PostRefusal | None = None,
    url: str | None = None,
    ended_by: UUID | None = None,
) -> None:
    await connection.execute(
        """
        update channel_posts set state = $2, reason = $3, detail = $4, post_url = coalesce($5, post_url), ended_by = $6,
               retry_at = null, held_until = null, claimed_at = null,
               posted_at = case when $2 = 'posted' then coalesce(posted_at, clock_timestamp()) end
        where post_id = $1
        """,
        post_id,
        state.value,
        "" if why is None else why.reason,
        "" if why is None else why.detail,
        url,
        ended_by,
    )


async def claim_due(connection: Connection, *, at_once: int) -> list[ChannelPost]:
    """Claims due posts as SENDING, the oldest first; skips rows that other replicas hold.

    At most `at_once` posts of each channel are in sending, so that a channel that hangs does not delay the others.
    """
    rows = await connection.fetch(
        """
        with found as (
            select due.post_id from (
                select distinct channel from channel_posts where state = 'planned' and due_at <= clock_timestamp()
            ) as each cross join lateral (
                select post_id from channel_posts
                where state = 'planned' and channel = each.channel and due_at <= clock_timestamp()
                  and (held_until is null or held_until <= clock_timestamp())
                order by due_at, number
                limit greatest($1 - (
                    select count(*) from channel_posts as busy
                    where busy.state = 'sending' and busy.channel = each.channel
                      and (busy.retry_at is null or busy.retry_at <= clock_timestamp())
                      and busy.claimed_at > clock_timestamp() - interval '10 minutes'), 0)
                for update skip locked
            ) as due
        )
        update channel_posts set state = 'sending', claimed_at = clock_timestamp(), reason = '', detail = '', held_until = null
        from found where channel_posts.post_id = found.post_id
        returning channel_posts.*
        """,
        at_once,
    )
    return sorted(map(channel_post, rows), key=lambda post: (post.due_at or post.since, post.number))


async def until_next(connection: Connection) -> timedelta | None:
    """Time until the next post is due, negative if it is overdue or waits for its channel; None if no post is planned."""
    due: timedelta | None = await connection.fetchval(
        """
        select least(
            -- The earliest by the index of times; those that are held are passed over, which are few.
            (select due_at from channel_posts
             where state = 'planned' and due_at is not null and coalesce(held_until, due_at) <= due_at order by due_at limit 1),
            (select min(greatest(due_at, held_until)) from channel_posts
             where state = 'planned' and held_until is not null)
        ) - clock_timestamp()
        """
    )
    return due


async def count_posts(connection: Connection) -> dict[str, float]:
    """Number of posts that are not out, by state, without called-off and rejected ones."""
    rows = await connection.fetch(
        """
        select state, count(*) from channel_posts
        where state in ('new', 'waiting', 'planned', 'sending', 'in_doubt', 'failed') group by state
        """
    )
    counted = dict.fromkeys(("new", "waiting", "planned", "sending", "in_doubt", "failed"), 0.0)
    return counted | {row["state"]: float(row["count"]) for row in rows}


async def rules_of(connection: Connection, brand: str, channel: str) -> ChannelRules:
    row = await connection.fetchrow(
        "select * from channel_rules where brand_slug = $1 and channel = $2",
        brand,
        channel,
    )
    return ChannelRules() if row is None else _rules(row)


async def all_rules_of(connection: Connection, brand: str) -> dict[str, ChannelRules]:
    """The rules of a brand, by channel."""
    rows = await connection.fetch("select * from channel_rules where brand_slug = $1", brand)
    return {row["channel"]: _rules(row) for row in rows}


async def put_rules(connection: Connection, brand: str, channel: str, rules: ChannelRules) -> None:
    await connection.execute(
        """
        insert into channel_rules (brand_slug, channel, link, hashtags, most_tags, reach) values ($1, $2, $3, $4, $5, $6)
        on conflict (brand_slug, channel) do update set link = excluded.link, hashtags = excluded.hashtags,
               most_tags = excluded.most_tags, reach = excluded.reach, changed_at = clock_timestamp()
        """,
        brand,
        channel,
        rules.link,
        list(rules.hashtags),
        rules.most_tags,
        rules.reach,
    )


async def delete_rules(connection: Connection, brand: str, channel: str) -> None:
    await connection.execute(
        "delete from channel_rules where brand_slug = $1 and channel = $2", brand, channel
    )


def _rules(row: asyncpg.Record) -> ChannelRules:
    return ChannelRules(row["link"], tuple(row["hashtags"]), row["most_tags"], row["reach"])


def channel_post(row: asyncpg.Record) -> ChannelPost:
    columns: dict[str, Any] = {each.name: row[each.name] for each in fields(ChannelPost)}
    return ChannelPost(
        **columns
        | {
            "material": PostMaterial.of_json(json.loads(row["material"])),
            "tags": tuple(json.loads(row["tags"])),
            "state": ChannelPostState(row["state"]),
        }
    )
