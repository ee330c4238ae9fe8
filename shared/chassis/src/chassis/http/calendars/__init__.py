"""Common parts of calendar routes: time span, time zone, paging, and iCalendar export.

Needs the extra `chassis[api]`.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from fastapi import Query, Response

from chassis.http.api import Moment
from chassis.http.calendars import icalendar
from chassis.http.conditional import entity_tag, is_known
from chassis.http.problem_codes import INVALID_CURSOR, INVALID_REQUEST, RefusalError
from chassis.time_zones import UntimelyError, zone_called

MOST_EXPORTED: Final = 2000
"""Events of one iCalendar file."""
LONGEST_SPAN: Final = timedelta(days=366)
BEFORE: Final = timedelta(days=7)
AHEAD: Final = timedelta(days=60)
"""The default span."""

From = Annotated[Moment | None, Query(alias="from", description="Left out: a week ago.")]
To = Annotated[
    Moment | None, Query(description="Before this time, a year after `from` at most; left out: in 60 days.")
]
Zone = Annotated[
    str,
    Query(description="Time zone of the times.", max_length=60, examples=["Europe/Berlin"]),
]
After = Annotated[str | None, Query(description="`next` of the page before.", max_length=200)]

EXPORTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {icalendar.MEDIA_TYPE: {}}, "description": "iCalendar (RFC 5545)."},
    304: {"description": "Not modified: If-None-Match names the current representation."},
}
"""OpenAPI responses of routes that return `exported`; use them with `response_class=Response`."""


def clocks(zone: str) -> ZoneInfo:
    """Return the time zone of this name. Raises HTTPException: 422, there is no such zone."""
    try:
        return zone_called(zone)
    except UntimelyError as error:
        raise _wrong(f"zone: {error}") from error


def span(begin: datetime | None, to: datetime | None) -> tuple[datetime, datetime]:
    """Return the half-open span of a request, with defaults filled in.

    Raises:
        HTTPException: 422, the times are out of range, in the wrong order, or more than a year apart.
    """
    now = datetime.now(UTC)
    try:
        first = begin or min(now, to or now) - BEFORE
        last = to or max(now, first) + AHEAD
    except OverflowError:
        raise _wrong("from, to: are beyond the years that there are") from None
    if not timedelta() <= last - first <= LONGEST_SPAN:
        raise _wrong("from, to: take a time for to that is later, by a year at most")
    return first, last


def place(at: datetime, key: str) -> str:
    """Return the cursor after an entry; `key` distinguishes entries at the same time."""
    return f"{at.astimezone(UTC).isoformat()}~{key}"


def after_place(after: str | None) -> tuple[datetime, str] | None:
    """Parse a cursor. Raises HTTPException: 422, it is not one."""
    if after is None:
        return None
    at, told, key = after.partition("~")
    try:
        moment = datetime.fromisoformat(at)
        if told and key.isprintable():
            return (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)), key
    except (ValueError, OverflowError):
        pass
    raise RefusalError(INVALID_CURSOR, "after: is not the `next` of a page; leave it out for the first")


def exported(name: str, events: Iterable[icalendar.Event], if_none_match: str | None) -> Response:
    """Respond with the calendar as iCalendar, or 304 if the client has it already."""
    text = icalendar.written(name, events)
    headers = {"ETag": (etag := entity_tag(text)), "Cache-Control": "private, no-cache"}
    if if_none_match is not None and is_known(etag, if_none_match):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(text, headers=headers, media_type=f"{icalendar.MEDIA_TYPE}; charset=utf-8")


def _wrong(detail: str) -> RefusalError:
    return RefusalError(INVALID_REQUEST, detail)
