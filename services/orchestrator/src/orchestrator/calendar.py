"""A brand's calendar: scheduled articles and firings of schedules."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import merge
from itertools import islice, takewhile
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import Field

from chassis import Connection
from chassis.http import calendars
from chassis.http.api import READ, UNKNOWN, IfNoneMatch, MayRead, View, conditional, router
from chassis.http.calendars import icalendar
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from orchestrator.brands import BrandSlug, UnknownBrandError, find_brand, seen_slug
from orchestrator.review import ScheduledArticle, dated_between
from orchestrator.schedule import Schedule, active_of

_ARTICLE: Final = "article"
_SCHEDULE: Final = "schedule"


@dataclass(frozen=True, slots=True)
class ArticleCalendarEntry:
    """A calendar entry; `ArticleCalendarEntryView` describes its fields."""

    at: datetime
    kind: Literal["article", "schedule"]
    brand_slug: BrandSlug
    title: str
    content_id: UUID | None
    version: int | None
    schedule: str | None
    schedule_id: UUID | None
    changed_at: datetime
    moves: int

    @property
    def place(self) -> tuple[datetime, str]:
        """Sort key: time, then articles before schedules."""
        key = f"{_SCHEDULE}:{self.schedule}" if self.content_id is None else f"{_ARTICLE}:{self.content_id}"
        return self.at, key


class ArticleCalendarEntryView(View):
    """A scheduled article, or a firing of a schedule."""

    at: datetime
    """Local time in the requested time zone."""
    kind: Literal["article", "schedule"]
    """`article`: an article is published; `schedule`: a schedule fires."""
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    title: str
    """The article's title, or what the schedule does."""
    content_id: UUID | None
    """The article; none of a schedule."""
    version: int | None
    """The approved version of the article."""
    schedule: Annotated[str | None, Field(examples=["weekly-basics"])]
    """The schedule's name; none of an article."""


class CalendarPage(View):
    items: tuple[ArticleCalendarEntryView, ...]
    """Earliest first."""
    next: str | None
    """The `after` of the next page; null on the last page."""


async def entries_of(
    connection: Connection,
    brand: BrandSlug,
    begin: datetime,
    end: datetime,
    *,
    after: tuple[datetime, str] | None = None,
    limit: int,
) -> list[ArticleCalendarEntry]:
    """Entries from `begin` to before `end`, earliest first; with `after`, only entries behind that sort key."""
    if after is not None:
        begin = max(begin, after[0])
    behind = _article(after[1]) if after is not None and after[0] == begin else None
    articles = await dated_between(connection, brand, begin, end, after=behind, limit=limit + 1)
    schedules = await active_of(connection, brand)
    # Times of a schedule are found one by one, as far as the page goes.
    streams = [
        iter([_of_article(brand, each) for each in articles]),
        *(_firings(each, begin, end) for each in schedules),
    ]
    found = merge(*streams, key=lambda entry: entry.place)
    return list(islice((each for each in found if after is None or each.place > after), limit))


def _of_article(brand: BrandSlug, dated: ScheduledArticle) -> ArticleCalendarEntry:
    return ArticleCalendarEntry(
        at=dated.publish_at,
        kind="article",
        brand_slug=brand,
        title=dated.title,
        content_id=dated.content_id,
        version=dated.version,
        schedule=None,
        schedule_id=None,
        changed_at=dated.made_at,
        moves=dated.moves,
    )


def _firings(schedule: Schedule, begin: datetime, end: datetime) -> Iterator[ArticleCalendarEntry]:
    times = schedule.plan.firings_from(schedule.standing, begin)
    for time in takewhile(lambda time: time < end, times):
        yield ArticleCalendarEntry(
            at=time,
            kind="schedule",
            brand_slug=schedule.brand_slug,
            title=_what(schedule),
            content_id=None,
            version=None,
            schedule=schedule.name,
            schedule_id=schedule.schedule_id,
            changed_at=schedule.updated_at,
            moves=0,
        )


def _what(schedule: Schedule) -> str:
    plan = schedule.plan
    if not plan.keywords:
        return "audit of the brand"
    if plan.take is not None:
        return f"{plan.take} of {len(plan.keywords)} keywords"
    return f"{len(plan.keywords)} keyword{'s' * (len(plan.keywords) > 1)}"


def _article(key: str) -> UUID | None:
    kind, _, told = key.partition(":")
    if kind != _ARTICLE:
        # All articles of that time stand before it.
        return UUID(int=2**128 - 1)
    try:
        return UUID(told)
    except ValueError:
        return None


Brand = Annotated[
    Slug,
    Query(description="Slug of the brand.", examples=["daily-grind"]),
]


def calendar_routes(database: Database) -> APIRouter:
    routes = router("", tags=["calendar"])

    async def entries(
        caller: Caller,
        brand: str,
        span: tuple[datetime, datetime],
        limit: int,
        after: tuple[datetime, str] | None = None,
    ) -> list[ArticleCalendarEntry]:
        slug = seen_slug(brand, caller)
        async with database.connection() as connection:
            if await find_brand(connection, slug) is None:
                raise UnknownBrandError(brand)
            return await entries_of(connection, slug, *span, after=after, limit=limit)

    @routes.get(
        "/calendar",
        summary="What is to happen when",
        response_model=CalendarPage,
        responses={**READ, **UNKNOWN},
    )
    async def list_calendar_entries(
        caller: MayRead,
        brand: Brand,
        begin: calendars.From = None,
        to: calendars.To = None,
        zone: calendars.Zone = "UTC",
        after: calendars.After = None,
        limit: PageLimit = DEFAULT_PAGE,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Scheduled articles and firings of schedules, earliest first."""
        clocks, place = calendars.clocks(zone), calendars.after_place(after)
        found = await entries(caller, brand, calendars.span(begin, to), limit + 1, place)
        page = found[:limit]
        answer = CalendarPage(
            items=tuple(
                ArticleCalendarEntryView.from_row(replace(each, at=each.at.astimezone(clocks)))
                for each in page
            ),
            next=calendars.place(*page[-1].place) if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    @routes.get(
        "/calendar.ics",
        summary="The calendar for other programs",
        response_class=Response,
        responses={**calendars.EXPORTED, **UNKNOWN},
    )
    async def get_calendar_feed(
        caller: MayRead,
        brand: Brand,
        begin: calendars.From = None,
        to: calendars.To = None,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """The calendar as iCalendar, two thousand entries at most. A moved article keeps its UID."""
        found = await entries(caller, brand, calendars.span(begin, to), calendars.MOST_EXPORTED)
        return calendars.exported(f"{brand}: articles", map(_event, found), if_none_match)

    return routes


def _event(entry: ArticleCalendarEntry) -> icalendar.Event:
    if entry.content_id is not None:
        return icalendar.Event(
            uid=f"{entry.content_id}@orchestrator.brand-engine",
            starts_at=entry.at,
            summary=f"site: {entry.title}",
            changed_at=entry.changed_at,
            sequence=entry.moves,
            description=f"Version {entry.version} is published.",
            categories=(entry.brand_slug, entry.kind),
        )
    return icalendar.Event(
        uid=f"{entry.schedule_id}-{entry.at.astimezone(UTC):%Y%m%dT%H%M%SZ}@orchestrator.brand-engine",
        starts_at=entry.at,
        summary=f"{entry.schedule}: {entry.title}",
        changed_at=entry.changed_at,
        categories=(entry.brand_slug, entry.kind),
    )
