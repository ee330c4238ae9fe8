"""Routes of the calendar: list, week and month, moves by form or by dragging, and files for other programs."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.api import add_routes
from chassis.http.callers import Scope
from console.accounts.connected import connected_names
from console.calendar import link_routes, links, slot_routes, views
from console.calendar.views import SHOWN_IN_A_DAY, CalendarEntry, CalendarQuery, UnreadPosts
from console.notices import Undo, can_undo
from console.pages import (
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once_or_refused,
    page,
    redirect,
)
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

NAVIGATION: Final = (NavigationEntry("calendar", "/b/{brand}/calendar", 55),)
_PAGE: Final = 200
_LISTED: Final = 100
"""Entries of each service in a list, which goes on from there: the page is quick, and short enough to be read."""
_MOST_PAGES: Final = {"list": 1, "week": 10, "month": 10}
"""Pages that are read of a service's calendar, by view; beyond them the page says from when on entries are missing."""
_DONE: Final = frozenset({"move", "first", "slot", "unschedule"})
router = APIRouter(include_in_schema=False)
# First, since other paths have a word in the place of `slots` and `links`.
add_routes(router, slot_routes.router, link_routes.router)
buttons = APIRouter(prefix="/b/{brand}/calendar/{kind}/{entry_id}")
Verb = Literal["move", "first", "slot", "unschedule"]


async def read_calendar(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The first entries of the days that are shown, with the slots; a day too many, whichever the calendar's zone."""
    wanted = CalendarQuery.of(query, datetime.now(UTC).date())
    begin, end = views.span_of(wanted.days, ZoneInfo("UTC"))
    day = timedelta(days=1)
    asked: dict[str, Any] = {"brand": fields["brand"], "from_": begin - day, "to": end + day, "limit": _PAGE}
    return await read_each(
        clients.orchestrator.list_calendar_entries(**asked),
        clients.social.list_calendar_entries(**asked),
        clients.social.list_account_slots(fields["brand"]),
    )


LIVE: Final = (LivePage("/b/{brand}/calendar", read_calendar),)


@router.get("/b/{brand}/calendar")
async def show_calendar(request: Request, brand: str, viewer: Viewer) -> Response:
    """Shows articles and posts by time, with the view, days and filters of the address."""
    return await _show(request, brand, viewer, request.query_params)


@dataclass(frozen=True)
class _Zones:
    """The zone of the calendar, and what may be chosen instead."""

    chosen: ZoneInfo
    offered: tuple[str, ...]
    settings: Any
    slots: Any


async def _zones(viewer: PageViewer, brand: str, named: str) -> _Zones:
    parts = await viewer.gather(
        settings=viewer.orchestrator.get_brand(brand, counters=False),
        slots=viewer.social.list_account_slots(brand),
    )
    settings, slots = parts["settings"], parts["slots"]
    accounts = slots["items"] if slots else []
    own = viewer.person.zone if views.is_zone(viewer.person.zone) else "UTC"
    of_brand = views.brand_zone(settings or None, accounts, own)
    offered = (of_brand, own, *(each.get("time_zone", "UTC") for each in accounts), named, "UTC")
    chosen = named if views.is_zone(named) else of_brand
    return _Zones(ZoneInfo(chosen), tuple(dict.fromkeys(filter(views.is_zone, offered))), settings, slots)


async def _show(
    request: Request,
    brand: str,
    viewer: PageViewer,
    query: Mapping[str, str],
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
    tried: "_EntryPress | None" = None,
) -> Response:
    now = datetime.now(UTC)

    async def read_in_zone() -> tuple[_Zones, date, CalendarQuery, _CalendarReading]:
        zones = await _zones(viewer, brand, query.get("zone", ""))
        today = now.astimezone(zones.chosen).date()
        wanted = CalendarQuery.of(query, today)
        return zones, today, wanted, await _read(viewer, brand, wanted, zones.chosen)

    (zones, today, wanted, read), connected, known_links = await asyncio.gather(
        read_in_zone(), connected_names(viewer, brand), links.links_of(viewer, brand)
    )
    zone = zones.chosen
    accounts = zones.slots["items"] if zones.slots else []
    entries = [
        *views.article_entries(brand, read.articles, zone, now),
        *views.post_entries(brand, read.posts, (each["account"] for each in accounts), zone, now),
        *views.slot_entries(accounts, zone),
    ]
    begin = wanted.since
    days = views.calendar_days(
        wanted,
        [
            each
            for each in entries
            if (read.cut is None or each.at <= read.cut) and (begin is None or each.at >= begin)
        ],
        today,
        read.unread,
    )
    t = replace(viewer.t, zone=zone.key)
    on = query.get("on", "")
    return page(
        request,
        viewer,
        "calendar/calendar.html.j2",
        status=status,
        t=t,
        time=t.time,
        brand=brand,
        wanted=wanted,
        all_views=views.VIEWS,
        kinds=views.KINDS,
        zone=zone.key,
        zones=zones.offered,
        days=days,
        is_empty=not any(each.entries for each in days),
        today=today,
        weekdays=views.WEEKDAYS,
        cut=read.cut,
        cut_day=read.cut and read.cut.astimezone(zone).date(),
        # A service is named once, however many of its answers are missing.
        aways={each.service: each for each in (*read.aways, zones.settings, zones.slots) if not each},
        accounts=views.posting_times(accounts),
        connected=connected or (),
        quiet=(zones.settings or {}).get("quiet_hours"),
        refusal=refusal,
        retry=None if tried is None else tried.typed(entries),
        done=done_word(request, _DONE),
        done_on=views.told_day(on),
        may_review=viewer.may(Scope.REVIEW),
        links=known_links,
    )


@dataclass(frozen=True)
class _CalendarReading:
    """The services' answers."""

    articles: list[Any]
    posts: list[Any]
    aways: list[Any]
    cut: datetime | None
    """From then on entries are missing, because there are too many."""
    unread: dict[date, UnreadPosts]
    """Posts that are counted, but not read, by day."""


async def _read(viewer: PageViewer, brand: str, wanted: CalendarQuery, zone: ZoneInfo) -> _CalendarReading:
    begin, end = views.span_of(wanted.days, zone)
    begin = max(begin, min(wanted.since or begin, end))
    a_day = SHOWN_IN_A_DAY.get(wanted.view)
    found = _CalendarReading([], [], [], None, {})
    services: dict[str, Any] = {}
    by_day: list[Awaitable[None]] = []
    if wanted.kind in {"", "article", "schedule"}:
        services["articles"] = viewer.orchestrator
    if wanted.kind in {"", "post"}:
        if a_day is None:
            services["posts"] = viewer.social
        else:
            by_day.append(_read_days(viewer, brand, wanted, zone, a_day, found))
    reading = _read_entries(viewer, brand, services, (begin, end), wanted, found)
    cut, *_ = await asyncio.gather(reading, *by_day)
    return replace(found, cut=cut)


async def _read_entries(
    viewer: PageViewer,
    brand: str,
    services: dict[str, Any],
    span: tuple[datetime, datetime],
    wanted: CalendarQuery,
    found: _CalendarReading,
) -> datetime | None:
    """Reads the entries page by page; returns from when on some are missing, if there are too many."""
    entries: dict[str, list[Any]] = {"articles": found.articles, "posts": found.posts}
    after: dict[str, str | None] = dict.fromkeys(services)
    limit = _PAGE if wanted.view in SHOWN_IN_A_DAY else _LISTED
    for _ in range(_MOST_PAGES[wanted.view]):
        answers = await viewer.gather(
            **{
                name: service.list_calendar_entries(
                    brand=brand, from_=span[0], to=span[1], after=after[name], limit=limit
                )
                for name, service in services.items()
            }
        )
        for name, answer in answers.items():
            if answer:
                entries[name] += answer["items"]
                after[name] = answer["next"]
            else:
                found.aways.append(answer)
            if not answer or answer["next"] is None:
                del services[name]
        if not services:
            break
    cuts = [datetime.fromisoformat(entries[name][-1]["at"]) for name in services]
    return min(cuts, default=None)


async def _read_days(
    viewer: PageViewer,
    brand: str,
    wanted: CalendarQuery,
    zone: ZoneInfo,
    a_day: int,
    found: _CalendarReading,
) -> None:
    """Reads the first posts of each day, and how many more there are: a brand may have thousands in a month."""
    parts = await viewer.gather(
        listed=viewer.social.list_calendar_days(
            brand=brand, first=wanted.days[0].isoformat(), days=len(wanted.days), zone=zone.key, a_day=a_day
        )
    )
    listed = parts["listed"]
    if not listed:
        found.aways.append(listed)
        return
    for each in listed["items"]:
        found.posts.extend(each["entries"])
        more = UnreadPosts(each["count"] - len(each["entries"]), each["is_exact"])
        found.unread[date.fromisoformat(each["day"])] = more


@dataclass(frozen=True)
class _TypedMove:
    """The form of an entry as a person sent it."""

    entry: CalendarEntry
    day: str
    clock: str


@dataclass(frozen=True)
class _EntryPress:
    """A button of an entry that was pressed."""

    request: Request
    brand: str
    kind: Literal["articles", "posts"]
    entry_id: str
    viewer: Viewer
    form: FormData

    @property
    def back(self) -> dict[str, str]:
        """The view that the form was on."""
        told = dict(parse_qsl(self.form.text("back").removeprefix("?")[:500]))
        return {name: told[name] for name in ("view", "day", "kind", "zone", "since") if name in told}

    def typed(self, entries: list[CalendarEntry]) -> _TypedMove | None:
        """The typed day and time, if the entry is on the page and may be moved."""
        kind = self.kind.removesuffix("s")
        for each in entries:
            if (each.kind, each.id) == (kind, self.entry_id) and each.can_move:
                return _TypedMove(each, self.form.text("date", each.day), self.form.text("time", each.clock))
        return None

    async def refused(self, refusal: str, status: int = HTTPStatus.BAD_REQUEST) -> Response:
        return await _show(
            self.request, self.brand, self.viewer, self.back, refusal=refusal, status=status, tried=self
        )


Press = Annotated[_EntryPress, Depends()]


@buttons.post("/{verb}")
async def change_entry(press: Press, verb: Verb) -> Response:
    """Moves an entry to a time or the next free slot, puts a post first, or takes the time away."""
    press.viewer.check_may(Scope.REVIEW)
    at: datetime | None = None
    if verb == "move":
        zone = press.form.text("zone")
        at = views.told_moment(
            press.form.text("date"),
            press.form.text("time"),
            ZoneInfo(zone if views.is_zone(zone) else press.viewer.person.zone),
        )
        if at is None:
            return await press.refused(press.viewer.t("calendar.bad_time"))
        if at <= datetime.now(UTC):
            # The services refuse it too, but name their own fields.
            return await press.refused(press.viewer.t("calendar.gone_by"), HTTPStatus.UNPROCESSABLE_ENTITY)

    async def act() -> Response:
        moved, undo = await (_change_article if press.kind == "articles" else _change_post)(press, verb, at)
        today = datetime.now(UTC).date()
        back = CalendarQuery.of(press.back, today).query()
        day = "" if moved is None else f"&on={moved.astimezone(_zone_of(press)).date().isoformat()}"
        path = f"/b/{press.brand}/calendar{back}"
        done = f"{path}&done={verb}{day}"
        if undo is None:
            return redirect(press.request, done)
        return await can_undo(press.request, press.viewer, done, undo.kind, *undo.things, back=path)

    return await once_or_refused(press.request, press.viewer, press.form, act, press.refused)


def _zone_of(press: _EntryPress) -> ZoneInfo:
    zone = press.form.text("zone")
    return ZoneInfo(zone if views.is_zone(zone) else "UTC")


async def _change_article(
    press: _EntryPress, verb: Verb, at: datetime | None
) -> tuple[datetime | None, Undo | None]:
    """Approves the version for another time, or has it wait again; returns its time, and what takes that back."""
    orchestrator, once = press.viewer.orchestrator, press.form.once
    draft = await orchestrator.get_draft(press.entry_id)
    if draft["brand_slug"] != press.brand or verb not in {"move", "unschedule"}:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    had = draft["scheduled"]
    undo = Undo("drafts.plan", [[press.entry_id, had["version"], had["publish_at"]]]) if had else None
    if verb == "unschedule":
        await orchestrator.unschedule_draft(press.entry_id, idempotency_key=once)
        return None, undo
    told = press.form.text("version")
    version = int(told) if told.isdecimal() and len(told) < 10 else draft["version"]  # noqa: PLR2004
    await orchestrator.approve_draft(press.entry_id, version=version, publish_at=at, idempotency_key=once)
    return at, undo or Undo("drafts.unschedule", [[press.entry_id]])


async def _change_post(
    press: _EntryPress, verb: Verb, at: datetime | None
) -> tuple[datetime | None, Undo | None]:
    """Moves a post at social; one for the built-in feed is approved for the time. Returns its time, and what takes that back."""
    social, once = press.viewer.social, press.form.once
    post = await social.get_post(press.entry_id)
    if post["brand_slug"] != press.brand:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    undo = Undo("posts.plan", [[press.entry_id, post["publish_at"]]]) if post["publish_at"] else None
    if verb == "unschedule":
        await social.unschedule_post(press.entry_id, idempotency_key=once)
        return None, undo
    if post["channel"] == "feed" and at is not None:
        await social.approve_post(
            press.entry_id, version=post["version"], publish_at=at, idempotency_key=once
        )
        return at, undo
    if verb == "first":
        undo = await _undo_first(press, post) or undo
        moved = await social.move_post_first(press.entry_id, idempotency_key=once)
    else:
        moved = await social.move_post(press.entry_id, at=at)
    return datetime.fromisoformat(moved["at"]), undo


async def _undo_first(press: _EntryPress, post: Any) -> Undo | None:
    """The order of the post's queue as it is; None if the post is in none."""
    if not post["account"]:
        return None
    queue = await press.viewer.social.get_account_queue(press.brand, post["account"])
    ids = [each["post_id"] for each in queue["items"]]
    return Undo("calendar.queue", [[post["account"], press.brand, ids]]) if press.entry_id in ids else None


UNDO: Final = slot_routes.UNDO


@router.get("/b/{brand}/calendar/{kind}.ics")
async def download_calendar(brand: str, kind: Literal["articles", "posts"], viewer: Viewer) -> Response:
    """The calendar of a service as iCalendar, for other programs."""
    service: Any = viewer.orchestrator if kind == "articles" else viewer.social
    text = await service.get_calendar_feed(brand=brand)
    headers = {"Content-Disposition": f'attachment; filename="{brand}-{kind}.ics"'}
    return Response(text, media_type="text/calendar; charset=utf-8", headers=headers)


add_routes(router, buttons)
