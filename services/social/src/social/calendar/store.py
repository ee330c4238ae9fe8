"""SQL over the times of posts on other platforms, beside the functions that run it. Only the database's clock counts.

Whoever gives posts of an account their times holds the account's lock, so that no two are given one.
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
"""Of one account, that are put into another order at a time."""
_OUT: Final = "('sending', 'posted', 'failed', 'in_doubt')"
"""States of posts that were sent, or may have been."""


@dataclass(frozen=True, slots=True)
class StoredPostingRules:
    brand_slug: str
    account: str
    written: Mapping[str, Any]
    """As they were given: see `Rules.read`."""
    updated_at: datetime

    @property
    def rules(self) -> PostingRules:
        return PostingRules.read(self.written)

    @property
    def apart(self) -> timedelta:
        """How long posts with the same text or link are kept apart."""
        return timedelta(days=self.written["duplicates_days"])


@dataclass(frozen=True, slots=True)
class StoredRepeatRule:
    brand_slug: str
    content_id: UUID
    account: str
    """Empty: each of the article's."""
    rule: Mapping[str, Any]
    """As it was given: see `Repeat.read`."""
    made: int
    """How many repetitions there are."""
    made_by: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class QueuedPost:
    """A post that has a slot."""

    post_id: UUID
    due_at: datetime


async def now(connection: Connection) -> datetime:
    """The database's time."""
    found: datetime = await connection.fetchval("select clock_timestamp()")
    return found


async def lock_accounts(connection: Connection, accounts: Collection[str]) -> None:
    """Nobody else gives posts of these accounts their times until the transaction ends."""
    # In one order everywhere, so that two wait for each other instead of locking each other out.
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
    """Those of a brand's accounts, by name."""
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
    """Has them hold from now on; the same again changes nothing. Whether there were none."""
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
    """When posts of an account go out, or went out so lately that others must not follow at once; without those of these ids."""
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
    """A brand's posts that have a slot of an account, in their order."""
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
    """Gives planned posts other times; with `in_queue`, as slots or not."""
    if not times:
        return
    ids = list(times)
    # A slot is given up before another one takes it: two posts may change places.
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
    """Takes evergreen posts out of their slots: newer ones come first. They come again when there is room."""
    await connection.execute(
        """
        delete from channel_posts
        where account = $1 and state = 'planned' and repeats = 'evergreen' and begun_at is null
        """,
        account,
    )


async def newer_wait(connection: Connection, account: str) -> bool:
    """Whether posts of the account are planned that are no repetitions."""
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
    """How an article's post on an account, or on each (empty), is made again; and how often it was."""
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
    """Has it hold from now on; the same again changes nothing."""
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
    """Has no more repetitions made, and takes those that are planned out."""
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
    """Another article's post on the account that says the same, or leads to the same: its id, its time, and whether it is the text."""
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
    """Brands with those of their accounts that have rules, and something to be sent now."""
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
    """A brand's planned posts of an account that nothing holds, in their order, and when the account's last one went out."""
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
