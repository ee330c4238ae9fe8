"""HTTP routes of a brand's calendar."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response

from chassis.http import calendars
from chassis.http.api import READ, UNKNOWN, IfNoneMatch, MayRead, conditional, router
from chassis.http.calendars import icalendar
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from envelope.brand.payloads import BrandSlug
from messaging import Database
from orchestrator.brands import UnknownBrandError, find_brand, seen_slug
from orchestrator.calendar.models import ArticleCalendarEntryView, CalendarPage
from orchestrator.calendar.reading import ArticleCalendarEntry, entries_of

Brand = Annotated[
    BrandSlug,
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
