"""Plans repetitions: evergreen ones in free slots, recurring ones at their times.

Every replica runs it; the account's lock divides the work. A repetition's id follows from the post and its number, so that none
is made twice.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg
import structlog

from chassis import Connection
from messaging import Database
from social.calendar import repeats, store
from social.calendar.repeats import RepeatRule
from social.domain import PostRefusal
from social.sending import DuePosts
from social.sending.domain import EVERYTHING, ChannelText
from social.sending.store import channel_post, rules_of

log = structlog.get_logger(__name__)

AT_ONCE: Final = 200
"""Most posts in one round."""

_SERIES: Final = """
    from repeats as r join channel_posts as p on p.brand_slug = r.brand_slug and p.content_id = r.content_id
        cross join lateral (
            select max(o.occurrence) as made, max(coalesce(o.posted_at, o.due_at)) as last,
                   bool_or(o.state in ('new', 'waiting', 'planned', 'sending', 'in_doubt')) as open, array_agg(o.text) as texts
            from channel_posts as o where o.content_id = p.content_id and o.account = p.account
        ) as series
    where p.occurrence = 0 and p.state = 'posted' and (r.account = p.account or r.account = '' and not exists (
            select from repeats as own
            where own.brand_slug = r.brand_slug and own.content_id = r.content_id and own.account = p.account))
      and not series.open and series.made < (r.rule ->> 'at_most')::int
"""
"""SQL for posts p with a repeat rule r and their series; a rule for the account overrides one for all."""


@dataclass(frozen=True, slots=True)
class _RepeatablePost:
    """A post that may be repeated."""

    post_id: UUID
    account: str


class RepeatPlanner:
    def __init__(self, database: Database, due: DuePosts) -> None:
        self._database = database
        self._due = due

    async def tick(self) -> int:
        """Plans due repetitions, the longest unposted first; returns their number."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                f"""
                select p.post_id, p.account {_SERIES}
                  and (r.rule ->> 'kind' = 'recurring'
                       or series.last + make_interval(days => (r.rule ->> 'cool_down_days')::int) < clock_timestamp() + $2::interval)
                order by series.last, p.post_id limit $1
                """,
                AT_ONCE,
                repeats.AHEAD,
            )
        turns = [_RepeatablePost(row["post_id"], row["account"]) for row in rows]
        return sum([await self._repeat(turn) for turn in turns])

    async def _repeat(self, turn: _RepeatablePost) -> bool:
        async with self._database.transaction() as tx:
            await store.lock_accounts(tx.connection, [turn.account])
            # This locks the rule, too, so that a deletion or an erasure sees the new repetition.
            row = await tx.connection.fetchrow(
                f"select p.*, r.rule, series.made, series.last, series.texts {_SERIES} and p.post_id = $1 for share of r",
                turn.post_id,
            )
            if row is None or not await _plan(tx.connection, row):
                return False
            self._database.once_committed(self._due.call)
            return True


async def _plan(connection: Connection, row: asyncpg.Record) -> bool:
    """Plans the next repetition if it is due; returns whether it did."""
    post, repeat = channel_post(row), RepeatRule.read(json.loads(row["rule"]))
    assert post.account is not None
    assert post.channel is not None
    stored = await store.find_rules(connection, post.brand_slug, post.account)
    now = await store.now(connection)
    at = repeats.next_time(
        repeat,
        None if stored is None else stored.rules,
        await store.taken_times(connection, post.account, now),
        last=row["last"],
        now=now,
        newer_wait=await store.newer_wait(connection, post.account),
    )
    if at is None:
        return False
    number = row["made"] + 1
    wishes = await rules_of(connection, post.brand_slug, post.channel)
    text = repeats.variant(post.channel, post.material, wishes, row["texts"], number)
    if isinstance(text, PostRefusal):
        log.debug("post_is_not_repeated", post_id=str(post.post_id), reason=text.reason)
        return False
    # A brand that reviews its posts reviews repetitions with a new text, too.
    waits = post.approval == EVERYTHING and text.text not in row["texts"]
    post_id = repeats.repetition_id(post.post_id, number)
    made = await _insert(connection, post.post_id, post_id, number, text, repeat, None if waits else at)
    if made:
        log.info(
            "post_is_repeated", post_id=str(post_id), of=str(post.post_id), number=number, at=at.isoformat()
        )
    return made


async def _insert(
    connection: Connection,
    original: UUID,
    post_id: UUID,
    number: int,
    text: ChannelText,
    repeat: RepeatRule,
    at: datetime | None,
) -> bool:
    """Stores a repetition, planned or, without a time, for review. False if it exists."""
    values: tuple[Any, ...] = (
        original,
        post_id,
        number,
        text.text,
        json.dumps(text.tags),
        text.placement,
        repeat.kind,
        "waiting" if at is None else "planned",
        at,
        at is not None and repeat.kind == repeats.EVERGREEN,
    )
    status = await connection.execute(
        """
        insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, occurrence, correlation_id, material, approval,
                                   channel, account, text, tags, placement, repeats, state, due_at, in_queue)
        select $2, brand_slug, content_id, asked_as, entry, $3, correlation_id, material, approval,
               channel, account, $4, $5::jsonb, $6, $7, $8, $9, $10
        from channel_posts where post_id = $1
        on conflict do nothing
        """,
        *values,
    )
    return status != "INSERT 0 0"
