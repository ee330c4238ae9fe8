"""Deadlines of cycles: ends the keywords without an article of cycles whose deadline has passed.

Messages that are late end by themselves (`messaging.flow.deadlines`). This is for keywords that wait for their turn, and for those
whose message lies in the queue of a service that is away.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import structlog

from chassis import Connection
from envelope import DomainMessage
from messaging import Database
from orchestrator.cycles import keyword_rows
from orchestrator.cycles.dispatch import BrandLimits, dispatch_waiting
from orchestrator.cycles.domain import end_late
from orchestrator.cycles.keyword_rows import KeywordRow
from orchestrator.ended_keywords import log_ended_keywords
from orchestrator.integration_events import announce_ended_cycles

log = structlog.get_logger(__name__)

AT_ONCE: Final = 500
_LATE: Final = "c.ended_at is null and c.late_at is null and c.deadline <= clock_timestamp()"
"""SQL: cycles c with a deadline that has passed and was not noted yet."""


async def end_late_keywords(database: Database, limits: BrandLimits) -> int:
    """Ends up to `AT_ONCE` keywords of late cycles; returns their number.

    A cycle is looked at once: a keyword that a person has written later, or that a replay continues, goes on.
    """
    async with database.transaction() as tx:
        brands = await tx.connection.fetch(
            f"""
            select slug from brands where slug in (select c.brand_slug from cycles as c where {_LATE})
            order by slug for no key update skip locked
            """  # noqa: S608  (a constant)
        )
        if not brands:
            return 0
        slugs = [row["slug"] for row in brands]
        now = await tx.connection.fetchval("select clock_timestamp()")
        rows = await keyword_rows.load_rows(
            tx.connection,
            f"""
            {_LATE} and c.brand_slug = any ($1::text[]) and k.state in ('queued', 'writing')
            order by k.cycle_id, k.position limit $2
            """,
            slugs,
            AT_ONCE,
        )
        ended = [
            replace(row, facts=end_late(row.facts, row.limits.deadline, now=now))
            for row in rows
            if row.limits.deadline is not None
        ]
        await keyword_rows.save_keywords(tx.connection, ended)
        await log_ended_keywords(each.as_ended for each in ended)
        if len(rows) < AT_ONCE:
            await tx.connection.execute(
                f"update cycles as c set late_at = $2 where {_LATE} and c.brand_slug = any ($1::text[])",  # noqa: S608
                slugs,
                now,
            )
        await dispatch_waiting(tx, slugs, limits, now=now)
        await announce_ended_cycles(tx, slugs)
    if ended:
        log.warning("deadline_passed", brands=slugs, keywords=len(ended))
    return len(rows)


async def next_deadline(connection: Connection) -> timedelta | None:
    """Time until the next deadline of a cycle under way (negative: overdue); None if there is none."""
    due: timedelta | None = await connection.fetchval(
        "select min(deadline) - clock_timestamp() from cycles where ended_at is null and late_at is null"
    )
    return due


async def extend_limits(
    connection: Connection,
    events: Iterable[DomainMessage[Any]],
    find: Callable[[Any], KeywordRow | None],
) -> None:
    """Moves the limits of cycles that an operator has extended with a replay: its answer carries the new ones."""
    moved: dict[UUID, KeywordRow] = {}
    for event in events:
        if not event.limits or (row := find(event)) is None:
            continue
        before = moved.get(row.cycle_id, row).limits
        deadline, cost = event.deadline, event.max_cost
        wanted = replace(
            before,
            deadline=deadline
            if before.deadline and deadline and deadline > before.deadline
            else before.deadline,
            max_cost=cost
            if before.max_cost is not None and cost and cost > before.max_cost
            else before.max_cost,
        )
        if wanted != before:
            moved[row.cycle_id] = replace(row, limits=wanted)
    if moved:
        await connection.execute(
            """
            update cycles as c set deadline = new.deadline, max_cost = new.max_cost,
                late_at = case when new.deadline > clock_timestamp() then null else late_at end
            from unnest($1::uuid[], $2::timestamptz[], $3::bigint[]) as new (cycle_id, deadline, max_cost)
            where c.cycle_id = new.cycle_id
            """,
            list(moved),
            [row.limits.deadline for row in moved.values()],
            [row.limits.max_cost for row in moved.values()],
        )
