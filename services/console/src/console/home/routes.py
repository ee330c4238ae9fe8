"""Routes of the home pages: of all brands, and of one."""

from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from console.home import views
from console.home.views import Task
from console.pages import NavigationEntry, PageViewer, Viewer, page
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

NAVIGATION: Final = (NavigationEntry("home", "/b/{brand}", 10),)
BRANDS: Final = 25
"""Of a page."""
_WEEK: Final = timedelta(days=7)
_SHOWN: Final = 5
router = APIRouter(include_in_schema=False)


async def read_home(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (home has no fields)
    """Reads the counts of the home page of all brands."""
    since = datetime.now(UTC) - _WEEK
    after = query.get("after") or None
    return await read_each(
        clients.orchestrator.list_activity(since=since, after=after, limit=BRANDS),
        clients.social.list_activity(since=since, after=after, limit=BRANDS),
        _count_dead_letters(clients),
        _read_ledger(clients),
    )


async def _count_dead_letters(clients: PersonClients) -> int:
    found = await clients.monitor.list_dead_letters(state="open", limit=1)
    return int(found["open"])


async def _read_ledger(clients: PersonClients) -> Any:
    return views.ledger_line(await clients.monitor.get_ledger())


async def read_brand(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (no filters)
    """Reads the home page of a brand, except the day's calendar."""
    brand, week = fields["brand"], datetime.now(UTC) - _WEEK
    orchestrator, social = clients.orchestrator, clients.social
    return await read_each(
        orchestrator.list_drafts(brand=brand, state="waiting", limit=_SHOWN),
        orchestrator.list_workflows(brand=brand, state="stuck", limit=_SHOWN),
        orchestrator.list_cycles(brand=brand, state=["running"], limit=_SHOWN),
        orchestrator.search_for_articles(brand=brand, since=week, limit=_SHOWN),
        social.get_post_count(brand, state="in_doubt"),
        social.get_post_count(brand, state="failed", since=week),
    )


LIVE: Final = (LivePage("/", read_home), LivePage("/b/{brand}", read_brand))


@router.get("/")
async def show_home(request: Request, viewer: Viewer) -> Response:
    """What wants the person's eye, over all brands that they may see."""
    since = datetime.now(UTC) - _WEEK
    after = request.query_params.get("after") or None
    calls: dict[str, Awaitable[Any]] = {
        "activity": viewer.orchestrator.list_activity(since=since, after=after, limit=BRANDS),
        "posts": viewer.social.list_activity(since=since, after=after, limit=BRANDS),
        "accounts": _accounts(viewer),
    }
    if viewer.may(Scope.OPERATE):
        calls["letters"] = viewer.monitor.list_dead_letters(state="open", limit=1)
        if viewer.person.brands is None:
            calls["ledger"] = _ledger(viewer)
    parts = await viewer.gather(**calls)
    activity, posts, accounts = parts["activity"], parts["posts"], parts["accounts"]
    return page(
        request,
        viewer,
        "home/all.html.j2",
        **{"letters": None, **parts},
        ledger_line=views.ledger_line(parts.get("ledger")),
        brands=views.summaries(
            activity["items"] if activity else (),
            posts["items"] if posts else (),
            accounts["items"] if accounts else (),
        ),
        next=activity["next"] if activity else None,
        dead=letters["open"] if (letters := parts.get("letters")) else 0,
        may_begin=viewer.person.is_owner,
    )


async def _ledger(viewer: PageViewer) -> Any:
    """The monitor's ledger; None from one of an earlier version."""
    try:
        return await viewer.monitor.get_ledger()
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


async def _accounts(viewer: PageViewer) -> Any:
    """The accounts at the gateway; none for a person who may not see them."""
    try:
        return await viewer.gateway.list_accounts()
    except RefusedError as error:
        if error.status == HTTPStatus.FORBIDDEN:
            return {"items": []}
        raise


@router.get("/b/{brand}")
async def show_brand(request: Request, brand: str, viewer: Viewer) -> Response:
    """Shows a brand's waiting and running work, today's publications, and the results of the week."""
    now = datetime.now(UTC)
    begin, end = views.day_around(now, ZoneInfo(viewer.person.zone))
    orchestrator, social = viewer.orchestrator, viewer.social
    parts = await viewer.gather(
        settings=orchestrator.get_brand(brand, counters=False),
        drafts=orchestrator.list_drafts(brand=brand, state="waiting", limit=_SHOWN),
        stuck=orchestrator.list_workflows(brand=brand, state="stuck", limit=_SHOWN),
        cycles=orchestrator.list_cycles(brand=brand, state=["running"], limit=_SHOWN),
        articles=orchestrator.search_for_articles(brand=brand, since=now - _WEEK, limit=_SHOWN),
        dated=orchestrator.list_calendar_entries(brand=brand, from_=begin, to=end),
        entries=social.list_calendar_entries(brand=brand, from_=begin, to=end),
        waiting=social.get_post_count(brand, state="waiting"),
        in_doubt=social.get_post_count(brand, state="in_doubt"),
        failed=social.get_post_count(brand, state="failed", since=now - _WEEK),
        measures=viewer.publisher.list_measures(brand, days=7, limit=1),
    )
    dated, entries = parts["dated"], parts["entries"]
    stuck, counted = parts["stuck"], ("in_doubt", "failed", "waiting")
    counts = {name: parts[name]["count"] if parts[name] else 0 for name in counted}
    tasks = [
        Task("in_doubt", counts["in_doubt"], f"/b/{brand}/posts?state=in_doubt", "bad"),
        Task("failed_posts", counts["failed"], f"/b/{brand}/posts?state=failed&age=week", "bad"),
        Task("posts", counts["waiting"], f"/b/{brand}/posts?state=waiting", "warn"),
        Task("stuck", len(stuck["items"]) if stuck else 0, f"/b/{brand}/keywords?state=writing", "bad"),
    ]
    return page(
        request,
        viewer,
        "home/brand.html.j2",
        **parts,
        brand=brand,
        tasks=[each for each in tasks if each.n],
        today=views.today(brand, dated["items"] if dated else (), entries["items"] if entries else ()),
        may_submit=viewer.may(Scope.SUBMIT),
    )
