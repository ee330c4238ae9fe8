"""Creates, changes, pauses and resumes schedules."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from chassis import Connection
from envelope import new_event_id
from orchestrator.brands import BrandSlug
from orchestrator.schedule import store
from orchestrator.schedule.domain import (
    WEEKLY_AUDIT,
    ScheduleKind,
    SchedulePlan,
    ScheduleProgress,
    ScheduleState,
)
from orchestrator.schedule.models import ScheduleRequest
from orchestrator.schedule.store import Schedule

MAX_SCHEDULES: Final = 200
"""Schedules of one brand."""


class PastScheduleError(ValueError):
    """The time of a single firing is past."""


class ScheduleConflictError(ValueError):
    """The request does not fit the schedule's name; the message says what does."""


class InactiveScheduleError(ValueError):
    """The schedule does not fire; the message says what to do."""


class TooManySchedulesError(ValueError):
    """The brand has the highest number of schedules."""


async def put(
    connection: Connection, slug: BrandSlug, name: str, request: ScheduleRequest
) -> tuple[Schedule, bool]:
    """Creates or changes a schedule of an existing brand; returns it, and whether it is new.

    Raises:
        ScheduleConflictError: it has no keywords, or it has some under the name of the weekly audit.
        PastScheduleError: its only time is past.
        TooManySchedulesError: the brand has `MAX_SCHEDULES`.
    """
    kind = _kind_of(name, request)
    plan = request.plan()
    now: datetime = await connection.fetchval("select now()")
    standing = await store.lock(connection, slug, name)
    if standing is not None and standing.kind is not kind:
        raise ScheduleConflictError(
            f"'{name}' hands in keywords: remove it first, and the weekly audit takes its place"
        )
    if standing is not None and _asks_for(request, plan, standing):
        return standing, False
    wanted = Schedule(
        schedule_id=standing.schedule_id if standing else new_event_id(),
        brand_slug=slug,
        name=name,
        kind=kind,
        priority=request.priority,
        priorities=request.own_priorities(),
        distinct=request.distinct_ones(),
        refresh=request.refresh,
        deadline_hours=request.deadline_hours,
        max_cost=request.max_cost,
        cron=plan.timetable.cron if plan.timetable else None,
        time_zone=request.time_zone,
        plan=plan,
        standing=_begun(plan, request, standing, now),
        created_at=standing.created_at if standing else now,
        updated_at=now,
    )
    if standing is not None:
        await store.replace_with(connection, wanted)
        return wanted, False
    if kind is ScheduleKind.RESEARCH and await store.count_of(connection, slug) >= MAX_SCHEDULES:
        raise TooManySchedulesError(
            f"'{slug}' has {MAX_SCHEDULES} schedules, which is the limit; remove one that has ended"
        )
    if not await store.insert(connection, wanted):
        # Another request has just created it; the second statement sees it.
        return await put(connection, slug, name, request)
    return wanted, True


async def pause(connection: Connection, schedule: Schedule) -> Schedule:
    """The caller must hold the schedule's lock."""
    if schedule.standing.state is not ScheduleState.ACTIVE:
        return schedule
    return await _stand(connection, schedule, replace(schedule.standing, state=ScheduleState.PAUSED))


async def resume(connection: Connection, schedule: Schedule) -> Schedule:
    """The caller must hold the schedule's lock."""
    if schedule.standing.state not in {ScheduleState.PAUSED, ScheduleState.PARKED}:
        return schedule
    now: datetime = await connection.fetchval("select now()")
    return await _stand(connection, schedule, schedule.plan.resumed(schedule.standing, now))


async def run_now(connection: Connection, schedule: Schedule) -> Schedule:
    """Makes an active schedule due. The caller must hold the schedule's lock.

    Raises:
        InactiveScheduleError: it is paused, parked or ended.
    """
    if schedule.standing.state is not ScheduleState.ACTIVE:
        what = {
            ScheduleState.PAUSED: "is paused; resume it first",
            ScheduleState.PARKED: "was given up; resume it, and it is tried again",
        }.get(schedule.standing.state, "has fired for the last time; give it new times, or other keywords")
        raise InactiveScheduleError(f"'{schedule.name}' {what}")
    now: datetime = await connection.fetchval("select now()")
    return await _stand(connection, schedule, schedule.plan.due_now(schedule.standing, now))


def _kind_of(name: str, request: ScheduleRequest) -> ScheduleKind:
    if name == WEEKLY_AUDIT:
        if request.keywords or request.cron is None:
            raise ScheduleConflictError(
                f"'{WEEKLY_AUDIT}' has the brand looked over: give it a cron expression and a time zone, and no keywords; keywords"
                " go into a schedule of another name"
            )
        if request.deadline_hours is not None or request.max_cost is not None:
            raise ScheduleConflictError(
                f"'{WEEKLY_AUDIT}' submits no keywords: leave deadline_hours and max_cost out"
            )
        return ScheduleKind.AUDIT
    if not request.keywords:
        raise ScheduleConflictError("keywords: give at least one to hand in")
    return ScheduleKind.RESEARCH


async def _stand(connection: Connection, schedule: Schedule, standing: ScheduleProgress) -> Schedule:
    await store.stand(connection, schedule.schedule_id, standing)
    return replace(schedule, standing=standing)


def _asks_for(request: ScheduleRequest, plan: SchedulePlan, schedule: Schedule) -> bool:
    """Whether the stored schedule already equals the request, apart from its progress."""
    same_time = request.at is None or request.at == schedule.standing.due_at
    return same_time and (
        plan,
        request.time_zone,
        request.priority,
        request.own_priorities(),
        request.distinct_ones(),
        request.refresh,
        request.deadline_hours,
        request.max_cost,
    ) == (
        schedule.plan,
        schedule.time_zone,
        schedule.priority,
        schedule.priorities,
        schedule.distinct,
        schedule.refresh,
        schedule.deadline_hours,
        schedule.max_cost,
    )


def _begun(
    plan: SchedulePlan, request: ScheduleRequest, former: Schedule | None, now: datetime
) -> ScheduleProgress:
    if plan.timetable is None:
        assert request.at is not None
        if request.at <= now:
            raise PastScheduleError(
                f"at: {request.at.isoformat()} has passed; give a time to come, or leave the keywords to a cycle"
            )
        first = request.at
    else:
        following = plan.timetable.after(now)
        if following is None:
            raise PastScheduleError("cron: names no time to come; correct the expression")
        first = following
    begun = plan.begun(first)
    if former is None:
        return begun
    if former.standing.state is ScheduleState.PAUSED:
        begun = replace(begun, state=ScheduleState.PAUSED)
    handed_in = former.standing.position
    goes_on = plan.take is not None and former.plan.keywords[:handed_in] == plan.keywords[:handed_in]
    if goes_on and handed_in < len(plan.keywords):
        return replace(begun, position=handed_in)
    return begun
