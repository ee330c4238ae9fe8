"""Fires due schedules. Every replica does; row locks share the work, and only the database's clock counts.

One transaction claims a due time, begins its cycle with its messages or makes its audit, and sets the next time: a crash
leaves all of it or nothing.
"""

from datetime import datetime, timedelta
from typing import Final, assert_never

import structlog

from chassis.database.pool import DatabaseUnavailableError
from envelope import MICROS, new_event_id
from messaging import Database, Transaction
from orchestrator.audits import BY_THE_CLOCK, audit_in
from orchestrator.cycles import (
    DEFAULT_LIMITS,
    BrandLimits,
    CycleId,
    NewCycle,
    RequestedLimits,
    begin_cycle_in,
    readable,
)
from orchestrator.schedule import store
from orchestrator.schedule.domain import ScheduleKind, ScheduleState
from orchestrator.schedule.store import Firing, Schedule

log = structlog.get_logger(__name__)

AT_ONCE: Final = 100
"""Firings of one tick."""
CLEANED_AT_ONCE: Final = 1000


class Scheduler:
    """Fires due schedules; `keep_firings` is how long records of firings are kept."""

    def __init__(
        self, database: Database, limits: BrandLimits = DEFAULT_LIMITS, *, keep_firings: timedelta
    ) -> None:
        self._database = database
        self._limits = limits
        self._keep_firings = keep_firings

    async def fire_due(self) -> None:
        """Fires all due schedules, makes missing audits and forgets old firings."""
        while await self.tick() == AT_ONCE:
            pass
        async with self._database.transaction() as tx:
            await store.make_audits(tx.connection)
            await store.delete_old_firings(tx.connection, self._keep_firings, CLEANED_AT_ONCE)

    async def tick(self) -> int:
        """Fires due schedules, the oldest first, at most `AT_ONCE`; returns how many it tried."""
        for count in range(AT_ONCE):
            if not await self._fire_next():
                return count
        return AT_ONCE

    async def _fire_next(self) -> bool:
        claimed: Schedule | None = None
        try:
            async with self._database.transaction() as tx:
                found = await store.claim(tx.connection)
                if found is None:
                    return False
                claimed, now = found
                await self._fire(tx, claimed, now)
        except DatabaseUnavailableError:
            raise
        except Exception as error:
            if claimed is None:
                raise
            log.exception("firing_failed", brand=claimed.brand_slug, schedule=claimed.name)
            await self._note_failure(claimed, error)
        return True

    async def _fire(self, tx: Transaction, schedule: Schedule, now: datetime) -> None:
        plan, standing = schedule.plan, schedule.standing
        missed = plan.missed(standing.due_at, now)
        firing = await self._carry_out(tx, schedule, now, missed)
        await store.insert_firing(tx.connection, schedule.schedule_id, firing)
        await store.stand(tx.connection, schedule.schedule_id, plan.fired(standing, now))
        log.info(
            "schedule_fired",
            brand=schedule.brand_slug,
            schedule=schedule.name,
            cycle_id=firing.cycle_id and str(firing.cycle_id),
            audit_id=firing.audit_id and str(firing.audit_id),
            due_at=standing.due_at.isoformat(),
            late_seconds=round((now - standing.due_at).total_seconds(), 3),
            missed=missed,
        )

    async def _carry_out(self, tx: Transaction, schedule: Schedule, now: datetime, missed: int) -> Firing:
        match schedule.kind:
            case ScheduleKind.RESEARCH:
                return await self._hand_in(tx, schedule, now, missed)
            case ScheduleKind.AUDIT:
                audit, _ = await audit_in(tx, schedule.brand_slug, self._limits, by=BY_THE_CLOCK)
                return Firing(schedule.standing.due_at, now, None, audit.audit_id, 0, missed, None)
            case _ as unreachable:
                assert_never(unreachable)

    async def _hand_in(self, tx: Transaction, schedule: Schedule, now: datetime, missed: int) -> Firing:
        keywords = schedule.plan.next_keywords(schedule.standing.position)
        cycle_id = CycleId(new_event_id())
        await begin_cycle_in(
            tx,
            NewCycle(
                cycle_id=cycle_id,
                correlation_id=str(new_event_id()),
                brand_slug=schedule.brand_slug,
                priority=schedule.priority,
                keywords=keywords,
                idempotency_key=None,
                request_digest=b"",
                priorities=schedule.priorities,
                refresh=schedule.refresh,
                submitted_by=f"schedule {schedule.name}",
                distinct=schedule.distinct.intersection(keywords),
                limits=_limits_of(schedule),
            ),
            self._limits,
            together=False,
        )
        return Firing(schedule.standing.due_at, now, cycle_id, None, len(keywords), missed, None)

    async def _note_failure(self, tried: Schedule, error: Exception) -> None:
        why = readable(f"{type(error).__name__}: {error}")
        async with self._database.transaction() as tx:
            schedule = await store.lock(tx.connection, tried.brand_slug, tried.name)
            if schedule is None or schedule.standing != tried.standing:
                return  # a person has changed it, or another replica has fired it
            now: datetime = await tx.connection.fetchval("select now()")
            after = schedule.plan.failed(schedule.standing, why, now)
            await store.stand(tx.connection, schedule.schedule_id, after)
            if after.due_at != tried.standing.due_at or after.state is not ScheduleState.ACTIVE:
                given_up = Firing(tried.standing.due_at, now, None, None, 0, 0, why)
                await store.insert_firing(tx.connection, schedule.schedule_id, given_up)
                log.error("firing_given_up", brand=schedule.brand_slug, schedule=schedule.name, reason=why)


def _limits_of(schedule: Schedule) -> RequestedLimits:
    hours, cost = schedule.deadline_hours, schedule.max_cost
    return RequestedLimits(
        deadline_hours=hours,
        max_cost=None if cost is None else round(cost * MICROS),
        brand_deadline=hours is None,
        brand_max_cost=cost is None,
    )
