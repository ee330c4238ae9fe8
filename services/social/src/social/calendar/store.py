"""SQL over the times of posts on other platforms. Only the database's clock counts.

A transaction that assigns times to posts of an account holds the account's lock, so that no two posts get one slot.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from social.calendar.slots import PostingRules

LONGEST_SPACING: Final = timedelta(days=7)
MOST_QUEUED: Final = 1000
"""Most posts of one account that one request reorders."""
_OUT: Final = "('sending', 'posted', 'failed', 'in_doubt')"
"""States of posts that are or may be out."""


@dataclass(frozen=True, slots=True)
class StoredPostingRules:
    brand_slug: str
    account: str
    written: Mapping[str, Any]
    """As the request gave them: see `PostingRules.read`."""
    updated_at: datetime

    @property
    def rules(self) -> PostingRules:
        return PostingRules.read(self.written)

    @property
    def apart(self) -> timedelta:
        """Least time between posts with the same text or link."""
        return timedelta(days=self.written["duplicates_days"])


@dataclass(frozen=True, slots=True)
class StoredRepeatRule:
    brand_slug: str
    content_id: UUID
    account: str
    """Empty: all accounts of the article."""
    rule: Mapping[str, Any]
    """As the request gave it: see `RepeatRule.read`."""
    made: int
    """Number of repetitions."""
    made_by: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class QueuedPost:
    """A post with a slot."""

    post_id: UUID
    due_at: datetime


async def now(connection: Connection) -> datetime:
    """The database's time."""
    found: datetime = await connection.fetchval("select clock_timestamp()")
    return found


async def lock_accounts(connection: Connection, accounts: Collection[str]) -> None:
    """Locks these accounts' times until the transaction ends."""
    # All transactions lock in this order, so that two of them cannot deadlock.
    for account in sorted(set(accounts)):
        await connection.execute(
            "select pg_advisory_xact_lock(hashtextextended('social.calendar ' || $1, 0))", account
        )


async def find_rules(connection: Connection, brand: str, account: str) -> StoredPostingRules | None:
    found = await rules_of(connection, brand, account=account)
    return found[0] if found else None


async def rules_of(
    connection: Connection, brand: str, *, account: str | None = None
) -> list[StoredPostingRules]:
    """Posting rules of a brand's accounts, by name; `account` selects one."""
    rows = await connection.fetch(
        """
        select brand_slug, account, rules, updated_at from posting_rules
        where brand_slug = $1 and ($2::text is null or account = $2) order by account
        """,
        brand,
        account,
    )
    return [
        StoredPostingRules(row["brand_slug"], row["account"], json.loads(row["rules"]), row["updated_at"])
        for row in rows
    ]


async def put_rules(connection: Connection, brand: str, account: str, written: Mapping[str, Any]) -> bool:
    """Stores the rules; returns whether there were none. The same rules again change nothing."""
    was_none: bool | None = await connection.fetchval(
        """
        insert into posting_rules as old (brand_slug, account, rules) values ($1, $2, $3::jsonb)
        on conflict (brand_slug, account) do update set rules = excluded.rules, updated_at = clock_timestamp()
        where old.rules <> excluded.rules
        returning xmax = 0
        """,
        brand,
        account,
        json.dumps(written),
    )
    return bool(was_none)


async def count_rules(connection: Connection, brand: str) -> int:
    count: int = await connection.fetchval("select count(*) from posting_rules where brand_slug = $1", brand)
    return count


async def delete_rules(connection: Connection, brand: str, account: str) -> None:
    await connection.execute(
        "delete from posting_rules where brand_slug = $1 and account = $2", brand, account
    )


async def taken_times(
    connection: Connection, account: str, now: datetime, *, but: Collection[UUID] = ()
) -> list[datetime]:
    """Times of an account's planned and recent posts, which keep other posts apart; `but` excludes ids."""
    rows = await connection.fetch(
        f"""
        select due_at from channel_posts
        where account = $1 and due_at > $2 and state in ('planned', {_OUT.strip("()")}) and post_id <> all ($3::uuid[])
        """,  # noqa: S608  (constants of this module)
        account,
        now - LONGEST_SPACING,
        list(but),
    )
    return [row["due_at"] for row in rows]


async def queue(connection: Connection, brand: str, account: str) -> list[QueuedPost]:
    """A brand's posts with a slot of an account, in order."""
    rows = await connection.fetch(
        """
        select post_id, due_at from channel_posts
        where brand_slug = $1 and account = $2 and state = 'planned' and in_queue order by due_at, number limit $3
        """,
        brand,
        account,
        MOST_QUEUED,
    )
    return [QueuedPost(row["post_id"], row["due_at"]) for row in rows]


async def count_queue(connection: Connection, brand: str, account: str) -> int:
    count: int = await connection.fetchval(
        "select count(*) from channel_posts where brand_slug = $1 and account = $2 and state = 'planned' and in_queue",
        brand,
        account,
    )
    return count


async def set_times(
    connection: Connection, times: Mapping[UUID, datetime], *, in_queue: bool | None = None
) -> None:
    """Moves planned posts to these times; `in_queue` says whether they are slots, None keeps that."""
    if not times:
        return
    ids = list(times)
    # First free all their slots, since two posts may swap.
    queued = await connection.fetch(
        """
        with before as (select post_id, in_queue from channel_posts where post_id = any ($1::uuid[]) for update)
        update channel_posts as p set in_queue = false from before
        where p.post_id = before.post_id and p.state = 'planned' returning p.post_id, before.in_queue
        """,
        ids,
    )
    kept = {row["post_id"]: row["in_queue"] if in_queue is None else in_queue for row in queued}
    await connection.execute(
        """
        update channel_posts as p
        set due_at = new.due_at, in_queue = new.in_queue, held_until = null,
            moves = moves + (p.due_at <> new.due_at)::int,
            moved_at = case when p.due_at <> new.due_at then clock_timestamp() else p.moved_at end
        from unnest($1::uuid[], $2::timestamptz[], $3::bool[]) as new (post_id, due_at, in_queue)
        where p.post_id = new.post_id and p.state = 'planned'
        """,
        list(kept),
        [times[each] for each in kept],
        list(kept.values()),
    )


async def free_evergreen_slots(connection: Connection, account: str) -> None:
    """Deletes planned evergreen posts, so that new posts get their slots; they are planned again later."""
    await connection.execute(
        """
        delete from channel_posts
        where account = $1 and state = 'planned' and repeats = 'evergreen' and begun_at is null
        """,
        account,
    )


async def newer_wait(connection: Connection, account: str) -> bool:
    """Whether new posts of the account are planned, not repetitions."""
    waits: bool = await connection.fetchval(
        """
        select exists (
            select from channel_posts where account = $1 and state = 'planned' and repeats is null
              and (held_until is null or held_until <= clock_timestamp()))
        """,
        account,
    )
    return waits


async def find_repeat(
    connection: Connection, brand: str, content_id: UUID, account: str
) -> StoredRepeatRule | None:
    """The repeat rule of an article on an account, or on all (empty), with the number of repetitions."""
    row = await connection.fetchrow(
        """
        select rule, made_by, made_at, (
            select count(*) from channel_posts as p
            where p.brand_slug = $1 and p.content_id = $2 and p.occurrence > 0 and ($3 = '' or p.account = $3)) as made
        from repeats where brand_slug = $1 and content_id = $2 and account = $3
        """,
        brand,
        content_id,
        account,
    )
    if row is None:
        return None
    return StoredRepeatRule(
        brand, content_id, account, json.loads(row["rule"]), row["made"], row["made_by"], row["made_at"]
    )


async def put_repeat(
    connection: Connection, brand: str, content_id: UUID, account: str, rule: Mapping[str, Any], by: str
) -> None:
    """Stores a repeat rule; the same rule again changes nothing."""
    await connection.execute(
        """
        insert into repeats as old (brand_slug, content_id, account, rule, made_by) values ($1, $2, $3, $4::jsonb, $5)
        on conflict (brand_slug, content_id, account) do update
            set rule = excluded.rule, made_by = excluded.made_by, made_at = clock_timestamp()
            where old.rule <> excluded.rule
        """,
        brand,
        content_id,
        account,
        json.dumps(rule),
        by,
    )


async def delete_repeat(connection: Connection, brand: str, content_id: UUID, account: str) -> None:
    """Deletes a repeat rule and its planned repetitions."""
    removed = await connection.fetchval(
        "delete from repeats where brand_slug = $1 and content_id = $2 and account = $3 returning true",
        brand,
        content_id,
        account,
    )
    if removed:
        await connection.execute(
            """
            delete from channel_posts
            where brand_slug = $1 and content_id = $2 and ($3 = '' or account = $3) and occurrence > 0 and begun_at is null
              and state in ('planned', 'waiting')
            """,
            brand,
            content_id,
            account,
        )


async def find_duplicate(
    connection: Connection, post_id: UUID, account: str, within: timedelta
) -> tuple[UUID, datetime, bool] | None:
    """Another article's post on the account with the same text or link: its id, its time, and whether the text is the same."""
    row = await connection.fetchrow(
        """
        select other.post_id, coalesce(other.posted_at, other.due_at) as at, lower(other.text) = lower(p.text) as says
        from channel_posts as p join channel_posts as other
          on other.account = p.account and other.content_id <> p.content_id
        where p.post_id = $1 and p.account = $2 and other.state in ('planned', 'sending', 'posted', 'in_doubt')
          and coalesce(other.posted_at, other.due_at) > clock_timestamp() - $3::interval
          and (lower(other.text) = lower(p.text) or coalesce(other.material ->> 'article_link', other.material ->> 'link')
               = coalesce(p.material ->> 'article_link', p.material ->> 'link'))
        order by says desc, at desc limit 1
        """,
        post_id,
        account,
        within,
    )
    return None if row is None else (row["post_id"], row["at"], bool(row["says"]))


async def overdue(connection: Connection) -> list[tuple[str, str]]:
    """(brand, account) pairs with rules and due posts."""
    rows = await connection.fetch(
        """
        select distinct p.brand_slug, p.account
        from channel_posts as p join posting_rules as r on r.brand_slug = p.brand_slug and r.account = p.account
        where p.state = 'planned' and p.due_at <= clock_timestamp()
          and (p.held_until is null or p.held_until <= clock_timestamp())
        """
    )
    return [(row["brand_slug"], row["account"]) for row in rows]


async def to_come(
    connection: Connection, brand: str, account: str
) -> tuple[list[QueuedPost], datetime | None]:
    """A brand's planned posts of an account that are not held, in order, and the time of the account's last post."""
    rows = await connection.fetch(
        """
        select post_id, due_at from channel_posts
        where brand_slug = $1 and account = $2 and state = 'planned'
          and (held_until is null or held_until <= clock_timestamp())
        order by due_at, number
        """,
        brand,
        account,
    )
    last: datetime | None = await connection.fetchval(
        f"select max(due_at) from channel_posts where account = $1 and state in {_OUT}",  # noqa: S608
        account,
    )
    return [QueuedPost(row["post_id"], row["due_at"]) for row in rows], last
