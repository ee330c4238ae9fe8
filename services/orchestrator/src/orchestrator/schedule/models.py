"""API bodies and views of schedules."""

from datetime import datetime
from typing import Annotated, Any, Final, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, model_validator

from chassis.http.api import View, in_utc
from chassis.time_zones import zone_called
from envelope.brand.payloads import Priority
from orchestrator.cycles import Keyword, distinct_among, fold_duplicates
from orchestrator.requests import RequestBody
from orchestrator.schedule.domain import ScheduleKind, SchedulePlan, ScheduleState, Timetable, local
from orchestrator.schedule.store import Schedule

MAX_KEYWORDS: Final = 1000
SHOWN_TIMES: Final = 5


_LAST_YEAR: Final = 9998


def _in_any_zone(moment: datetime) -> datetime:
    found = in_utc(moment)
    if found.year > _LAST_YEAR:
        raise ValueError(
            f"is beyond the year {_LAST_YEAR}, and not every zone could show it; take an earlier one"
        )
    return found


def _countable(keywords: Any) -> Any:
    if isinstance(keywords, list | tuple) and len(keywords) > MAX_KEYWORDS:
        raise ValueError(
            f"has {len(keywords):,} entries, the limit is {MAX_KEYWORDS:,}; make several schedules of them"
        )
    return keywords


class ScheduleRequest(RequestBody):
    """A schedule's keywords and times: those of `cron`, or once, `at`."""

    keywords: Annotated[
        tuple[Keyword, ...],
        Field(max_length=MAX_KEYWORDS, examples=[["pour over ratio", "cold brew"]]),
        BeforeValidator(_countable),
    ] = ()
    """1 to 1,000 keywords; duplicates that differ only in case and spacing are folded. Each firing submits all, or the next `take`. Empty for
    `weekly-audit` alone."""
    take: Annotated[int | None, Field(ge=1, le=MAX_KEYWORDS, examples=[1])] = None
    """Keywords per firing, until the list is used up; left out: all every time."""
    priority: Priority = Priority.NORMAL
    priorities: Annotated[tuple[Priority | None, ...], Field(max_length=MAX_KEYWORDS)] = ()
    """One for each keyword, if they differ; null means `priority`."""
    distinct: bool = False
    """Whether the keywords are subjects of their own, like `distinct` of a cycle."""
    each_distinct: Annotated[tuple[bool | None, ...], Field(max_length=MAX_KEYWORDS)] = ()
    """One for each keyword, if they differ; null means `distinct`."""
    refresh: bool = False
    """Whether existing articles on the keywords are rewritten; without it, such keywords end with the existing article."""
    deadline_hours: Annotated[int | None, Field(ge=1, le=8760, examples=[48])] = None
    """Hours from each submission on, after which a keyword without an article is refused; left out or null: as the brand says."""
    max_cost: Annotated[float | None, Field(ge=0.01, le=1_000_000, examples=[5.0])] = None
    """US dollars that the paid calls for each submission may cost; left out or null: as the brand says."""
    cron: Annotated[str | None, Field(max_length=200, examples=["0 6 * * SUN"])] = None
    """Minute, hour, day of the month, month, day of the week; in `time_zone`."""
    time_zone: Annotated[str, Field(max_length=60, examples=["Europe/Berlin"])] = "UTC"
    at: Annotated[
        Annotated[AwareDatetime, AfterValidator(_in_any_zone)] | None,
        Field(examples=["2027-03-01T09:00:00+01:00"]),
    ] = None
    """Fires once at this time, which includes its UTC offset."""

    @model_validator(mode="after")
    def _one_kind_of_time(self) -> Self:
        if (self.cron is None) == (self.at is None):
            raise ValueError("give either cron, for what recurs, or at, for what happens once")
        if self.at is not None and self.take is not None:
            raise ValueError("take is for what recurs; leave it out, or give cron instead of at")
        if self.priorities and len(self.priorities) != len(self.keywords):
            raise ValueError(
                f"there are {len(self.priorities):,} priorities for {len(self.keywords):,} keywords; give one for each, or none"
            )
        if self.each_distinct and len(self.each_distinct) != len(self.keywords):
            raise ValueError(
                f"there are {len(self.each_distinct):,} values in each_distinct for {len(self.keywords):,} keywords; give one for each, or none"
            )
        self.timetable()
        zone_called(self.time_zone)
        return self

    def timetable(self) -> Timetable | None:
        return Timetable.read(self.cron, self.time_zone) if self.cron is not None else None

    def plan(self) -> SchedulePlan:
        return SchedulePlan(tuple(self._each_once()), self.take, self.timetable())

    def own_priorities(self) -> dict[str, Priority]:
        """Priorities of keywords that differ from the schedule's."""
        return {
            keyword: priority
            for keyword, priority in self._each_once().items()
            if priority is not self.priority
        }

    def distinct_ones(self) -> frozenset[str]:
        """The keywords that are subjects of their own."""
        return distinct_among(self.keywords, self.each_distinct, otherwise=self.distinct)

    def _each_once(self) -> dict[str, Priority]:
        given = self.priorities or (None,) * len(self.keywords)
        return fold_duplicates(
            (keyword, own or self.priority) for keyword, own in zip(self.keywords, given, strict=True)
        )


class ScheduleListItem(View):
    """A schedule in a list."""

    name: Annotated[str, Field(examples=["weekly-basics"])]
    kind: ScheduleKind
    """`research`: submits keywords; `audit`: starts an audit."""
    state: ScheduleState
    """`paused` by a person; `parked`: its only firing failed, retries included; `ended`: it has fired for the last time."""
    reason: str | None
    """Why the last firing failed; null if it did not."""
    cron: Annotated[str | None, Field(examples=["0 6 * * SUN"])]
    time_zone: Annotated[str, Field(examples=["Europe/Berlin"])]
    priority: Priority
    refresh: bool
    deadline_hours: int | None
    """Hours from each submission on; null: as the brand says."""
    max_cost: float | None
    """US dollars for each submission; null: as the brand says."""
    keywords: Annotated[int, Field(examples=[52])]
    """Keywords in the list."""
    take: int | None
    handed_in: int
    """Keywords of the list that were submitted; 0 if each firing submits all."""
    next: tuple[datetime, ...]
    """The next five firings; none unless it is active."""
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        return cls(**_shown(schedule))


class ScheduleView(ScheduleListItem):
    keyword_list: tuple[str, ...]
    """The whole list; the first `handed_in` were submitted."""
    priorities: dict[str, Priority]
    """Priorities of keywords that differ from `priority`."""
    distinct_keywords: tuple[str, ...]
    """Keywords that are subjects of their own, in the list's order."""

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        plan, own = schedule.plan, dict(schedule.priorities)
        distinct = tuple(keyword for keyword in plan.keywords if keyword in schedule.distinct)
        return cls(keyword_list=plan.keywords, priorities=own, distinct_keywords=distinct, **_shown(schedule))


class ScheduleList(View):
    items: tuple[ScheduleListItem, ...]
    next: str | None
    """`after` of the next page; none if this is the last."""


class FiringView(View):
    """The outcome of a due time."""

    due_at: datetime
    at: datetime
    """When it fired or was given up."""
    cycle_id: UUID | None
    """The cycle it began; null if it was given up or is an audit."""
    audit_id: UUID | None
    """The audit it made, if any."""
    keywords: int
    missed: int
    """Missed due times that this firing stands for."""
    failure: str | None
    """Why it was given up."""


class FiringList(View):
    items: tuple[FiringView, ...]
    """Latest first."""
    next: datetime | None
    """`after` of the next page; none if this is the last."""


def _shown(schedule: Schedule) -> dict[str, Any]:
    plan, standing = schedule.plan, schedule.standing
    times = plan.next_times(standing, SHOWN_TIMES)
    return {
        "name": schedule.name,
        "kind": schedule.kind,
        "state": standing.state,
        "reason": standing.reason,
        "cron": schedule.cron,
        "time_zone": schedule.time_zone,
        "priority": schedule.priority,
        "refresh": schedule.refresh,
        "deadline_hours": schedule.deadline_hours,
        "max_cost": schedule.max_cost,
        "keywords": len(plan.keywords),
        "take": plan.take,
        "handed_in": standing.position,
        "next": local(times, zone_called(schedule.time_zone)),
        "created_at": schedule.created_at,
        "updated_at": schedule.updated_at,
    }
