"""SQL over cycles, and over the brand locks that order decisions about keywords (`keyword_rows.py`).

Deciding about a brand's keywords needs the brand's row lock (`lock_brands_of`, `lock_brand`, or those of `dispatch.py` and `overdue.py`). The lock is
`for no key update`: it shuts out other deciders, but not the foreign keys of a new cycle or article.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from chassis import Connection
from chassis.observing.traces import TraceHeaders
from envelope.brand.payloads import Priority
from orchestrator.article_workflow import HELD_UP_BY_DRAFTS, UNREVIEWED_DRAFTS, WAITS
from orchestrator.brands import ApprovalPolicy, BrandSlug
from orchestrator.cycles.domain import CycleId
from orchestrator.cycles.facts import (
    CycleProgress,
    CycleState,
    cycle_state,
)
from orchestrator.integration_events import ENDED_AS, POSTS_WAIT
from orchestrator.moving import check_not_moving

RANKS = tuple(Priority)
"""Priorities by stored rank: the first goes first."""

_DRAFTS_WAIT = f"""
    (select 'waits for a person: ' || n || case n when 1 then ' draft of its brand waits' else ' drafts of its brand wait' end || ' for review'
     from {UNREVIEWED_DRAFTS} as of (n))
"""  # noqa: S608  (a constant of the orchestrator)
BRAND_WAITS = f"""
    case when b.paused_at is not null then 'its brand is paused'
         when b.quiet_from <= now()
         then 'its brand keeps quiet hours until ' || to_char(b.quiet_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
         when {HELD_UP_BY_DRAFTS} then {_DRAFTS_WAIT} end
"""
"""SQL: why brand b takes no step without a person now; null if it may."""
CYCLE_IS_PAUSED = "its cycle is paused"
HELD_UP = f"coalesce({BRAND_WAITS}, case when c.paused_at is not null then '{CYCLE_IS_PAUSED}' end)"
"""SQL: why cycle c of brand b takes no step without a person now; null if it may. Checked before every step."""
MAY_STEP = f"(({HELD_UP}) is null and c.cancelled_at is null)"

_DRAFTS_THAT_HOLD_UP = f"""
    case when b.paused_at is null and (b.quiet_from <= now()) is not true and {HELD_UP_BY_DRAFTS} then {UNREVIEWED_DRAFTS} end
"""
"""SQL: number of drafts that pause brand b; null if none do, or another reason comes first."""
_PROGRESS_COLUMNS = f"""
    c.*, case when c.ended_at is null and c.awaiting_research + c.awaiting_writing + c.following > 0 then {HELD_UP} end as held_up,
    case when c.ended_at is null and c.awaiting_research + c.awaiting_writing + c.following > 0
        then {_DRAFTS_THAT_HOLD_UP} end as held_up_by_drafts,
    case when c.needs_review > 0 then (
        select count(*) from keywords as k join content as d using (content_id)
        where k.cycle_id = c.cycle_id and k.state = 'needs_review' and {WAITS}) else 0 end as drafts_waiting,
    (select count(*) from keywords as k where k.cycle_id = c.cycle_id and {POSTS_WAIT}) as posts_waiting
"""  # noqa: S608  (constants of the orchestrator)
"""SQL: the columns of `Cycle`, for cycles c of brands b."""

CYCLE_STATE = f"""
    case when ended_at is not null then {ENDED_AS}
         when queued + writing + publishing + promoting = 0 then 'waiting'
         when paused_at is not null then 'paused' else 'running' end
"""
"""Of cycles: `Cycle.state` in SQL."""
_UNDER_WAY = frozenset({CycleState.RUNNING, CycleState.PAUSED, CycleState.WAITING})


@dataclass(frozen=True, slots=True)
class Cycle:
    cycle_id: CycleId
    correlation_id: str
    brand_slug: BrandSlug
    priority: str
    request_digest: bytes
    created_at: datetime
    paused_at: datetime | None
    cancelled_at: datetime | None
    ended_at: datetime | None
    """When the last keyword ended; None while one is under way or waits for a person."""
    progress: CycleProgress
    held_up: str | None = None
    """Why its unsent keywords are not begun now; None if nothing holds them up."""
    held_up_by_drafts: int | None = None
    """Unreviewed drafts that pause its brand, if they are the reason."""
    drafts_waiting: int = 0
    """Its drafts that wait for a decision."""
    posts_waiting: int = 0
    """Its articles with a post that waits for a person."""
    deadline: datetime | None = None
    max_cost: int | None = None
    """Micro-dollars."""

    @property
    def state(self) -> CycleState:
        return cycle_state(self.progress, paused=self.paused_at is not None)


@dataclass(frozen=True, slots=True)
class RequestedLimits:
    """The limits that a request names. By default, it names none, and those of its brand hold."""

    deadline: datetime | None = None
    deadline_hours: int | None = None
    """From now on; instead of `deadline`."""
    max_cost: int | None = None
    """Micro-dollars."""
    brand_deadline: bool = True
    """Whether the brand's deadline holds if the request names none."""
    brand_max_cost: bool = True
    """Likewise."""


@dataclass(frozen=True, slots=True)
class NewCycle:
    """The request for a new cycle; `request_digest` identifies repeated requests."""

    cycle_id: CycleId
    correlation_id: str
    brand_slug: BrandSlug
    priority: Priority
    keywords: tuple[str, ...]
    idempotency_key: str | None
    request_digest: bytes
    priorities: Mapping[str, Priority] = field(default_factory=dict)
    """Priorities of keywords that differ from the cycle's."""
    refresh: bool = False
    """Whether existing articles on the keywords are rewritten."""
    distinct: frozenset[str] = frozenset()
    """Keywords that are subjects of their own, even if others fold with them."""
    submitted_by: str | None = None
    """The name of the caller's key, `schedule` and its name, or `audit`."""
    limits: RequestedLimits = RequestedLimits()
    approval: ApprovalPolicy | None = None
    """None: as its brand says."""


async def begin_cycle(connection: Connection, cycle: NewCycle) -> bool:
    """Stores the cycle and its keywords, which wait for their turn; False if its idempotency key was used.

    The brand has to exist; its channels, target and limits are copied into the cycle.
    """
    limits = cycle.limits
    begun = await connection.fetchval(
        """
        insert into cycles
            (cycle_id, correlation_id, brand_slug, priority, target, channels, idempotency_key, request_digest, submitted_by,
             deadline, max_cost, approval)
        select $1, $2, slug, $4, target, channels, $5, $6, $7,
               coalesce($8, now() + make_interval(hours => coalesce($9, case when $11 then deadline_hours end))),
               coalesce($10, case when $12 then (brands.max_cost * 1e6)::bigint end), $13
        from brands where slug = $3
        on conflict (brand_slug, idempotency_key) do nothing
        returning true
        """,
        cycle.cycle_id,
        cycle.correlation_id,
        cycle.brand_slug,
        cycle.priority,
        cycle.idempotency_key,
        cycle.request_digest,
        cycle.submitted_by,
        limits.deadline,
        limits.deadline_hours,
        limits.max_cost,
        limits.brand_deadline,
        limits.brand_max_cost,
        cycle.approval,
    )
    if not begun:
        return False
    await connection.execute(
        """
        insert into keywords (cycle_id, position, keyword, rank, refresh, awaits_turn, is_distinct)
        select $1, position, keyword, rank, $4, true, is_distinct
        from unnest($2::text[], $3::smallint[], $5::bool[]) with ordinality as asked (keyword, rank, is_distinct, position)
        """,
        cycle.cycle_id,
        list(cycle.keywords),
        [RANKS.index(cycle.priorities.get(keyword, cycle.priority)) for keyword in cycle.keywords],
        cycle.refresh,
        [keyword in cycle.distinct for keyword in cycle.keywords],
    )
    return True


async def keep_trace(
    connection: Connection, cycle_id: UUID, trace: TraceHeaders, *, of_keywords: bool
) -> None:
    """Stores the trace of a cycle, also for its keywords if `of_keywords`. An empty trace is not stored."""
    if not trace:
        return
    kept = json.dumps(trace)
    await connection.execute("update cycles set trace = $2 where cycle_id = $1", cycle_id, kept)
    if of_keywords:
        await connection.execute("update keywords set trace = $2 where cycle_id = $1", cycle_id, kept)


async def find_cycle(
    connection: Connection, cycle_id: UUID, brands: Collection[str] | None = None
) -> Cycle | None:
    """The cycle, of one of these `brands` if they are named."""
    own = None if brands is None else list(brands)
    return await _cycle(
        connection, "c.cycle_id = $1 and ($2::text[] is null or c.brand_slug = any ($2))", cycle_id, own
    )


async def release_key(connection: Connection, cycle: NewCycle, kept: timedelta) -> None:
    """Frees an idempotency key that was used longer than `kept` ago."""
    if cycle.idempotency_key is not None:
        await connection.execute(
            """
            update cycles set idempotency_key = null
            where brand_slug = $1 and idempotency_key = $2 and created_at <= now() - $3::interval
            """,
            cycle.brand_slug,
            cycle.idempotency_key,
            kept,
        )


async def find_cycle_by_idempotency_key(connection: Connection, slug: str, key: str) -> Cycle | None:
    return await _cycle(connection, "c.brand_slug = $1 and c.idempotency_key = $2", slug, key)


async def cycles_page(
    connection: Connection,
    *,
    brands: Collection[str] | None,
    states: Collection[CycleState] = (),
    after: UUID | None,
    limit: int,
) -> list[Cycle]:
    """A page of cycles after the id `after`, latest first; all, or of some brands, or in some states."""
    # As in the index cycles_under_way, which has few of a brand's cycles.
    under_way = "and ended_at is null" if states and _UNDER_WAY.issuperset(states) else ""
    rows = await connection.fetch(
        f"""
        select {_PROGRESS_COLUMNS}
        from (
            select * from cycles
            where ($1::text[] is null or brand_slug = any ($1)) and ($2::uuid is null or cycle_id < $2)
              and ($3::text[] is null or {CYCLE_STATE} = any ($3)) {under_way}
            order by cycle_id desc limit $4
        ) as c join brands as b on b.slug = c.brand_slug
        order by c.cycle_id desc
        """,  # noqa: S608  (constants of this module)
        None if brands is None else list(brands),
        after,
        list(states) or None,
        limit,
    )
    return [_cycle_of(row) for row in rows]


async def lock_brands_of(
    connection: Connection,
    correlation_ids: Sequence[str],
    content_ids: Sequence[UUID],
    named: Sequence[str] = (),
) -> tuple[list[str], datetime] | None:
    """Locks the brands of these cycles and articles, and those `named`, in slug order, until the transaction ends.

    Returns:
        The slugs of these brands, and the database's time once all locks are held; None if no brand of ours is concerned.
    """
    row = await connection.fetchrow(
        """
        with locked as materialized (
            select slug from brands
            where slug in (
                select brand_slug from cycles where correlation_id = any ($1::text[])
                union
                select brand_slug from keywords join cycles using (cycle_id) where content_id = any ($2::uuid[])
                union
                select unnest($3::text[])
            )
            order by slug for no key update
        )
        -- The time is told of all rows together, and so when the last one is locked.
        select array_agg(slug) as slugs, clock_timestamp() as now from locked
        """,
        list(correlation_ids),
        list(content_ids),
        list(named),
    )
    assert row is not None
    return None if row["slugs"] is None else (row["slugs"], row["now"])


async def lock_brand(connection: Connection, slug: str) -> datetime:
    """Locks a brand until the transaction ends, for what a caller asks; returns the database's time after that.

    Raises:
        BrandMovesError: it moves to another installation, or has moved.
    """
    await connection.execute("select from brands where slug = $1 for no key update", slug)
    await check_not_moving(connection, slug)
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now


async def waiting(connection: Connection) -> dict[str, float]:
    """Counts keywords that wait, by reason."""
    rows = await connection.fetch(
        """
        select 'a turn' as what, coalesce(sum(awaiting_research + awaiting_writing), 0) as articles
        from cycles where ended_at is null
        union all
        select 'another keyword on the subject', sum(following) from cycles where ended_at is null and following > 0 having count(*) > 0
        union all
        select replace(split_part(reason, ':', 1), 'waits for ', ''), count(*)
        from (
            select reason from writing_waits
            union all
            select r.reason from research_waits as r join keywords using (cycle_id, position) where state = 'queued'
        ) as waits
        group by 1
        """
    )
    return {row["what"]: float(row["articles"]) for row in rows}


async def _cycle(connection: Connection, condition: str, *arguments: object) -> Cycle | None:
    row = await connection.fetchrow(
        f"select {_PROGRESS_COLUMNS} from cycles as c join brands as b on b.slug = c.brand_slug where {condition}",  # noqa: S608
        *arguments,
    )
    return _cycle_of(row) if row else None


def _cycle_of(row: asyncpg.Record) -> Cycle:
    progress = CycleProgress(**{each.name: row[each.name] for each in fields(CycleProgress)})
    return Cycle(
        **{each.name: row[each.name] for each in fields(Cycle) if each.name != "progress"}, progress=progress
    )
