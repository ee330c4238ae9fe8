"""SQL over stalled keywords and old cycles."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from chassis import Connection
from orchestrator.cycles.keyword_rows import KeywordRow, load_rows
from orchestrator.moving import FROZEN

UNDER_WAY = "('queued', 'writing', 'publishing', 'promoting')"
"""As in the partial index keywords_under_way; a literal, so that the planner sees that the index applies."""

STALLED = f"""
    k.state in {UNDER_WAY} and k.moved_at < now() - $1::interval and not k.awaits_turn and not k.follows
    and not exists (
        select from workflow_steps as s
        where s.workflow_id in (k.content_id, k.command_id) and s.finished_at >= now() - $1::interval)
    and not exists (
        select from writings as g where g.content_id = k.content_id and g.changed_at >= now() - $1::interval)
    and not exists (
        select from writing_waits as w where w.content_id = k.content_id and w.until >= now() - $1::interval)
    and not exists (
        select from research_waits as r where k.state = 'queued' and (r.cycle_id, r.position) = (k.cycle_id, k.position)
            and r.until >= now() - $1::interval)
"""  # noqa: S608  (a constant of this module)
"""SQL: keywords k without progress for the time $1: not moved, no writing begun, no step finished and no known wait."""


async def lock_stalled_brands(connection: Connection, stall_after: timedelta) -> tuple[list[str], datetime]:
    """Locks the brands with stalled keywords, without brands that another transaction has locked.

    Returns:
        Their slugs, and the database's time.
    """
    rows = await connection.fetch(
        f"""
        select slug from brands
        where slug in (
            select brand_slug from keywords as k join cycles using (cycle_id)
            where {STALLED}
        )
            and slug not in (select brand_slug from brand_moves where step in {FROZEN})
        order by slug for no key update skip locked
        """,  # noqa: S608  (a constant of this module)
        stall_after,
    )
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return [row["slug"] for row in rows], now


async def load_stalled(
    connection: Connection, slugs: Sequence[str], stall_after: timedelta, limit: int
) -> list[KeywordRow]:
    return await load_rows(
        connection,
        f"""
        {STALLED} and c.brand_slug = any ($2::text[])
        order by k.moved_at limit $3
        """,
        stall_after,
        list(slugs),
        limit,
    )


async def next_stall(connection: Connection, stall_after: timedelta) -> timedelta | None:
    """Time until the next keyword may be stalled (negative: overdue); None while none is under way."""
    due: timedelta | None = await connection.fetchval(
        f"""
        select min(greatest(k.moved_at, w.until, case when k.state = 'queued' then r.until end)) + $1::interval - now()
        from keywords as k left join writing_waits as w using (content_id)
            left join research_waits as r using (cycle_id, position)
        where k.state in {UNDER_WAY} and not k.awaits_turn and not k.follows
            and k.cycle_id not in (select cycle_id from brand_moves join cycles using (brand_slug) where step in {FROZEN})
        """,  # noqa: S608
        stall_after,
    )
    return due


async def delete_old_cycles(connection: Connection, older_than: timedelta, limit: int) -> int:
    """Deletes old ended cycles with their keywords, not their articles; returns the number of cycles.

    Skips locked brands: a late event would wait for the cycle's deletion, which would wait for its
    keyword.
    """
    rows = await connection.fetch(
        """
        select slug from brands
        where slug in (
            select brand_slug from cycles where created_at < now() - $1::interval and ended_at is not null
        )
        order by slug for no key update skip locked
        """,
        older_than,
    )
    if not rows:
        return 0
    status = await connection.execute(
        """
        delete from cycles where cycle_id in (
            select cycle_id from cycles
            where created_at < now() - $1::interval and ended_at is not null and brand_slug = any ($3::text[])
            order by created_at limit $2 for update skip locked
        )
        """,
        older_than,
        limit,
        [row["slug"] for row in rows],
    )
    return int(status.split()[-1])
