"""HTTP routes for the calendar as a list and as iCalendar, and for moves of posts."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator

from chassis.http import calendars
from chassis.http.api import (
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayRead,
    MayReview,
    conditional,
    refusal,
    router,
)
from chassis.http.calendars import icalendar
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import INVALID_CURSOR, RefusalError
from envelope.brand.payloads import BrandSlug
from messaging import Database
from social.calendar import entries, moving
from social.calendar.entries import MOST_COUNTED_A_DAY, CalendarDay, PostCalendarEntry
from social.calendar.models import (
    CalendarPage,
    MovePostRequest,
    PostCalendarDay,
    PostCalendarDays,
    PostCalendarEntryView,
)
from social.calendar.moving import UnknownEntryError
from social.sending import DuePosts

LATE: Final = refusal(
    HTTPStatus.CONFLICT, "It is not as you believe, or the time is taken; `detail` says what to do."
)
_UTC: Final = ZoneInfo("UTC")
_FIRST_YEAR, _LAST_YEAR = 1900, 9990
_STATUS: Final[Mapping[str, icalendar.Status]] = {
    moving.CALLED_OFF: "CANCELLED",
    entries.EXPECTED: "TENTATIVE",
}

MOST_DAYS: Final = 42
"""Of one answer: a month with whole weeks."""
MOST_A_DAY: Final = 50


def _countable(day: date) -> date:
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise ValueError(f"take a day of the years {_FIRST_YEAR} to {_LAST_YEAR}")
    return day


FirstDay = Annotated[date, AfterValidator(_countable)]

Brand = Annotated[
    BrandSlug,
    Query(description="Slug of the brand.", examples=["daily-grind"]),
]


def entry_routes(database: Database, due: DuePosts) -> APIRouter:
    routes = router("/calendar", tags=["calendar"])

    @routes.get("", summary="List the calendar", response_model=CalendarPage, responses=READ)
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
        """Past and planned posts, and expected repetitions; `/v1/posts` lists posts under review."""
        clocks, place = calendars.clocks(zone), _place(after)
        found: list[PostCalendarEntry] = []
        if caller.may_see(brand):
            async with database.connection() as connection:
                span = calendars.span(begin, to)
                found = await entries.page(connection, brand, *span, after=place, limit=limit + 1)
        page = found[:limit]
        answer = CalendarPage(
            items=tuple(PostCalendarEntryView.of(each, clocks) for each in page),
            next=calendars.place(page[-1].at, str(page[-1].post_id)) if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    # Before the route of a post, whose id is in the same place.
    @routes.get(
        "/days", summary="List the calendar day by day", response_model=PostCalendarDays, responses=READ
    )
    async def list_calendar_days(
        caller: MayRead,
        brand: Brand,
        first: Annotated[FirstDay, Query(description="The first day.", examples=["2027-03-01"])],
        days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="Days in a row.")] = 7,
        zone: calendars.Zone = "UTC",
        a_day: Annotated[int, Query(ge=1, le=MOST_A_DAY, description="Entries of each day at most.")] = 5,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """The first posts of each day, with the number of all: a month is one answer, however many posts it has."""
        clocks = calendars.clocks(zone)
        wanted = [first + timedelta(days=number) for number in range(days)]
        found: list[CalendarDay] = [CalendarDay(each, (), 0) for each in wanted]
        if caller.may_see(brand):
            async with database.connection() as connection:
                found = await entries.days(connection, brand, wanted, clocks, limit=a_day)
        answer = PostCalendarDays(
            items=tuple(
                PostCalendarDay(
                    day=each.day,
                    entries=tuple(PostCalendarEntryView.of(entry, clocks) for entry in each.entries),
                    count=each.count,
                    is_exact=each.count < MOST_COUNTED_A_DAY,
                )
                for each in found
            )
        )
        return conditional(answer.model_dump_json(), if_none_match)

    @routes.get("/{post_id}", summary="Read the time of a post", responses=UNKNOWN)
    async def get_calendar_entry(
        caller: MayRead, post_id: UUID, zone: calendars.Zone = "UTC"
    ) -> PostCalendarEntryView:
        """A post on another platform that has or had a time."""
        clocks = calendars.clocks(zone)
        async with database.connection() as connection:
            entry = await entries.find(connection, post_id, caller.brands)
        if entry is None:
            raise UnknownEntryError(post_id)
        return PostCalendarEntryView.of(entry, clocks)

    @routes.put("/{post_id}", summary="Move a post", responses={**UNKNOWN, **LATE})
    async def move_post(caller: MayReview, post_id: UUID, request: MovePostRequest) -> PostCalendarEntryView:
        """Moves to a time, now, or the next free slot; restores a post that was called off. The same request again changes nothing."""
        return PostCalendarEntryView.of(
            await moving.move(database, due, post_id, request.at, caller, at_once=request.now), _UTC
        )

    @routes.post("/{post_id}/first", summary="Put a post first", responses={**UNKNOWN, **LATE})
    async def move_post_first(caller: MayReview, post_id: UUID) -> PostCalendarEntryView:
        """The post takes the next free slot; the others of its queue follow."""
        return PostCalendarEntryView.of(await moving.put_first(database, post_id, caller), _UTC)

    @routes.post("/{post_id}/call-off", summary="Call off a post", responses={**UNKNOWN, **LATE})
    async def call_off_post(caller: MayReview, post_id: UUID) -> PostCalendarEntryView:
        """The post does not go out unless it is moved to a time again. Other posts keep their times."""
        return PostCalendarEntryView.of(await moving.call_off(database, post_id, caller), _UTC)

    return routes


def export_routes(database: Database) -> APIRouter:
    routes = router("", tags=["calendar"])

    @routes.get(
        "/calendar.ics",
        summary="Export the calendar as iCalendar",
        response_class=Response,
        responses=calendars.EXPORTED,
    )
    async def get_calendar_feed(
        caller: MayRead,
        brand: Brand,
        begin: calendars.From = None,
        to: calendars.To = None,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """The same posts, at most two thousand; a moved post keeps its UID."""
        found: list[PostCalendarEntry] = []
        if caller.may_see(brand):
            async with database.connection() as connection:
                found = await entries.page(
                    connection, brand, *calendars.span(begin, to), limit=calendars.MOST_EXPORTED
                )
        return calendars.exported(f"{brand}: posts", map(_event, found), if_none_match)

    return routes


def _event(entry: PostCalendarEntry) -> icalendar.Event:
    what = entry.state.replace("_", " ")
    return icalendar.Event(
        uid=f"{entry.post_id}@social.brand-engine",
        starts_at=entry.at,
        summary=f"{entry.account or entry.channel}: {entry.title}",
        changed_at=entry.changed_at,
        sequence=entry.moves,
        status=_STATUS.get(entry.state, "CONFIRMED"),
        description="\n\n".join(filter(None, (entry.text, f"({what}) {entry.detail}".strip()))),
        url=entry.post_url or entry.link,
        categories=(entry.brand_slug, entry.channel, what),
    )


def _place(after: str | None) -> tuple[datetime, UUID] | None:
    if (place := calendars.after_place(after)) is None:
        return None
    try:
        return place[0], UUID(place[1])
    except ValueError:
        raise RefusalError(
            INVALID_CURSOR, "after: is not the `next` of a page; leave it out for the first"
        ) from None
