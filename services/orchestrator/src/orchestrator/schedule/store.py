"""SQL over schedules and their firings, beside the functions that run it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from chassis.time_zones import zone_called
from envelope.brand.payloads import Priority
from orchestrator.brands import BrandSlug
from orchestrator.schedule.domain import (
    AUDIT_CRON,
    WEEKLY_AUDIT,
    ScheduleKind,
    SchedulePlan,
    ScheduleProgress,
    ScheduleState,
    Timetable,
)

_COLUMNS: Final = """
    select schedule_id, brand_slug, name, kind, keywords, take, position, priority, priorities, refresh, cron, time_zone, state, due_at,
           try_at, failures, reason, created_at, updated_at, distinct_keywords, deadline_hours, max_cost
    from schedules
"""

_MAY_FIRE: Final = (
    "state = 'active' and brand_slug not in"
    " (select slug from brands where paused_at is not null or quiet_from <= now())"
)
"""SQL: whether a schedule may fire. Those of a paused or quiet brand are caught up afterwards."""


class AlreadyFiredError(RuntimeError):
    """A due time would have fired a second time."""


@dataclass(frozen=True, slots=True)
class Schedule:
    schedule_id: UUID
    brand_slug: BrandSlug
    name: str
    kind: ScheduleKind
    priority: Priority
    priorities: Mapping[str, Priority]
    """Priorities of keywords that differ from the schedule's."""
    distinct: frozenset[str]
    """The keywords that are subjects of their own."""
    refresh: bool
    """Whether existing articles on its keywords are rewritten."""
    deadline_hours: int | None
    """Until when the work on each submission may take; None: as the brand says."""
    max_cost: float | None
    """US dollars for each submission; None: as the brand says."""
    cron: str | None
    time_zone: str
    plan: SchedulePlan
    standing: ScheduleProgress
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Firing:
    """The outcome of a due time."""

    due_at: datetime
    at: datetime
    cycle_id: UUID | None
    audit_id: UUID | None
    keywords: int
    missed: int
    failure: str | None


async def find(connection: Connection, slug: str, name: str) -> Schedule | None:
    return await _one(connection, "where brand_slug = $1 and name = $2", slug, name)


async def lock(connection: Connection, slug: str, name: str) -> Schedule | None:
    """Finds a schedule and locks it against changes and firings until the transaction ends."""
    return await _one(connection, "where brand_slug = $1 and name = $2 for update", slug, name)


async def schedules_of(connection: Connection, slug: str, *, after: str, limit: int) -> list[Schedule]:
    """A page of a brand's schedules by name, after `after`."""
    rows = await connection.fetch(
        f"{_COLUMNS} where brand_slug = $1 and name > $2 order by name limit $3", slug, after, limit
    )
    return [_schedule(row) for row in rows]


async def active_of(connection: Connection, slug: str) -> list[Schedule]:
    """The active schedules of a brand, by name."""
    rows = await connection.fetch(
        f"{_COLUMNS} where brand_slug = $1 and state = 'active' order by name", slug
    )
    return [_schedule(row) for row in rows]


async def count_of(connection: Connection, slug: str) -> int:
    """Number of a brand's schedules that people made."""
    count: int = await connection.fetchval(
        "select count(*) from schedules where brand_slug = $1 and kind = 'research'", slug
    )
    return count


async def insert(connection: Connection, schedule: Schedule) -> bool:
    """Stores a new schedule; False, and nothing stored, if the brand has one of this name."""
    plan, standing = schedule.plan, schedule.standing
    return bool(
        await connection.fetchval(
            """
            insert into schedules (schedule_id, brand_slug, name, keywords, take, position, priority, cron, time_zone,
                                   state, due_at, try_at, failures, reason, created_at, updated_at, kind, refresh,
                                   priorities, distinct_keywords, deadline_hours, max_cost)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
            on conflict (brand_slug, name) do nothing returning true
            """,
            schedule.schedule_id,
            schedule.brand_slug,
            schedule.name,
            list(plan.keywords),
            plan.take,
            standing.position,
            schedule.priority,
            schedule.cron,
            schedule.time_zone,
            standing.state,
            standing.due_at,
            standing.try_at,
            standing.failures,
            standing.reason,
            schedule.created_at,
            schedule.updated_at,
            schedule.kind,
            schedule.refresh,
            json.dumps(dict(schedule.priorities)),
            sorted(schedule.distinct),
            schedule.deadline_hours,
            schedule.max_cost,
        )
    )


async def replace_with(connection: Connection, schedule: Schedule) -> None:
    """Replaces the stored schedule with this id."""
    plan, standing = schedule.plan, schedule.standing
    await connection.execute(
        """
        update schedules
        set keywords = $2, take = $3, position = $4, priority = $5, cron = $6, time_zone = $7, state = $8, due_at = $9,
            try_at = $10, failures = $11, reason = $12, refresh = $13, priorities = $14, distinct_keywords = $15,
            deadline_hours = $16, max_cost = $17, updated_at = now()
        where schedule_id = $1
        """,
        schedule.schedule_id,
        list(plan.keywords),
        plan.take,
        standing.position,
        schedule.priority,
        schedule.cron,
        schedule.time_zone,
        standing.state,
        standing.due_at,
        standing.try_at,
        standing.failures,
        standing.reason,
        schedule.refresh,
        json.dumps(dict(schedule.priorities)),
        sorted(schedule.distinct),
        schedule.deadline_hours,
        schedule.max_cost,
    )


async def make_audits(connection: Connection) -> int:
    """Creates missing weekly audits; returns the number of brands that got one."""
    now: datetime = await connection.fetchval("select now()")
    first = Timetable.read(AUDIT_CRON, "UTC").after(now)
    status = await connection.execute(
        """
        insert into schedules (schedule_id, brand_slug, name, kind, keywords, priority, cron, time_zone, state, due_at, try_at)
        select gen_random_uuid(), slug, $1, 'audit', '{}', 'normal', $2, 'UTC', 'active', $3, $3 from brands
        where not exists (select from schedules where brand_slug = slug and name = $1)
        on conflict (brand_slug, name) do nothing
        """,
        WEEKLY_AUDIT,
        AUDIT_CRON,
        first,
    )
    return int(status.split()[-1])


async def delete(connection: Connection, slug: str, name: str) -> None:
    await connection.execute("delete from schedules where brand_slug = $1 and name = $2", slug, name)


async def claim(connection: Connection) -> tuple[Schedule, datetime] | None:
    """Locks the schedule that is due the longest and is not claimed; returns it and the database's time, or None."""
    row = await connection.fetchrow(
        f"""
        {_COLUMNS} where {_MAY_FIRE} and try_at <= now() order by try_at, schedule_id limit 1
        for update skip locked
        """
    )
    if row is None:
        return None
    now: datetime = await connection.fetchval("select now()")
    return _schedule(row), now


async def stand(connection: Connection, schedule_id: UUID, standing: ScheduleProgress) -> None:
    """Stores a schedule's progress."""
    await connection.execute(
        """
        update schedules set state = $2, due_at = $3, try_at = $4, position = $5, failures = $6, reason = $7
        where schedule_id = $1
        """,
        schedule_id,
        standing.state,
        standing.due_at,
        standing.try_at,
        standing.position,
        standing.failures,
        standing.reason,
    )


async def insert_firing(connection: Connection, schedule_id: UUID, firing: Firing) -> None:
    """Stores a firing, in place of one that was given up.

    Raises:
        AlreadyFiredError: the schedule has fired at this due time.
    """
    stored = await connection.fetchval(
        """
        insert into firings (schedule_id, due_at, at, cycle_id, keywords, missed, failure, audit_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (schedule_id, due_at) do update
            set at = $3, cycle_id = $4, keywords = $5, missed = $6, failure = $7, audit_id = $8 where firings.failure is not null
        returning true
        """,
        schedule_id,
        firing.due_at,
        firing.at,
        firing.cycle_id,
        firing.keywords,
        firing.missed,
        firing.failure,
        firing.audit_id,
    )
    if not stored:
        raise AlreadyFiredError(f"it has fired for {firing.due_at.isoformat()} already")


async def firings_of(
    connection: Connection, schedule_id: UUID, *, before: datetime | None, limit: int
) -> list[Firing]:
    """A page of firings, latest first; only those due before `before`, if given."""
    rows = await connection.fetch(
        """
        select due_at, at, cycle_id, audit_id, keywords, missed, failure from firings
        where schedule_id = $1 and ($2::timestamptz is null or due_at < $2) order by due_at desc limit $3
        """,
        schedule_id,
        before,
        limit,
    )
    return [Firing(**row) for row in rows]


async def until_next(connection: Connection) -> timedelta | None:
    """Time until the next schedule is due (negative: overdue); None if none may fire."""
    due: timedelta | None = await connection.fetchval(
        f"select min(try_at) - clock_timestamp() from schedules where {_MAY_FIRE}"  # noqa: S608
    )
    return due


async def delete_old_firings(connection: Connection, older_than: timedelta, limit: int) -> int:
    """Deletes old firings; returns their number."""
    status = await connection.execute(
        """
        delete from firings where (schedule_id, due_at) in (
            select schedule_id, due_at from firings where at < now() - $1::interval
            order by at limit $2 for update skip locked
        )
        """,
        older_than,
        limit,
    )
    return int(status.split()[-1])


async def count_states(connection: Connection) -> dict[str, float]:
    """Counts schedules by state; `overdue` are active ones that should have fired two minutes ago."""
    rows = await connection.fetch(
        f"""
        select case when {_MAY_FIRE} and try_at < now() - interval '2 minutes' then 'overdue' else state end as what,
               count(*) as schedules
        from schedules group by 1
        """  # noqa: S608  (a constant of this module)
    )
    none = dict.fromkeys((*ScheduleState, "overdue"), 0.0)
    return none | {row["what"]: float(row["schedules"]) for row in rows}


async def _one(connection: Connection, condition: str, *arguments: object) -> Schedule | None:
    row = await connection.fetchrow(_COLUMNS + condition, *arguments)
    return _schedule(row) if row else None


def _schedule(row: asyncpg.Record) -> Schedule:
    cron, zone = row["cron"], row["time_zone"]
    timetable = Timetable(cron, zone_called(zone)) if cron is not None else None
    return Schedule(
        schedule_id=row["schedule_id"],
        brand_slug=row["brand_slug"],
        name=row["name"],
        kind=ScheduleKind(row["kind"]),
        priority=Priority(row["priority"]),
        priorities={keyword: Priority(own) for keyword, own in json.loads(row["priorities"]).items()},
        distinct=frozenset(row["distinct_keywords"]),
        refresh=row["refresh"],
        deadline_hours=row["deadline_hours"],
        max_cost=row["max_cost"],
        cron=cron,
        time_zone=zone,
        plan=SchedulePlan(tuple(row["keywords"]), row["take"], timetable),
        standing=ScheduleProgress(
            ScheduleState(row["state"]),
            row["due_at"],
            row["try_at"],
            row["position"],
            row["failures"],
            row["reason"],
        ),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
