"""Routes of the page about all audit logs, and of its files."""

import asyncio
import json
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.audit import log
from chassis.http.audit.routes import AuditEntry
from chassis.http.callers import Scope
from console.audit_log import views
from console.audit_log.views import LogFilter, LogLine
from console.pages import Away, NavigationEntry, PageViewer, Refused, Viewer, page
from console.pages.parts import parts_of
from console.people import store as people

NAVIGATION: Final = (NavigationEntry("audit_log", "/audit-log", 30, Scope.OPERATE),)
MOST_IN_A_FILE: Final = 5_000
"""Entries."""
_BATCH: Final = 200
router = APIRouter(include_in_schema=False)


@router.get("/audit-log")
async def show_log(request: Request, viewer: Viewer) -> Response:
    """The entries that match the filters in the address, of all services, newest first."""
    viewer.check_may(Scope.OPERATE)
    wanted = LogFilter.of(request.query_params)
    places = wanted.places
    asked = [each for each in wanted.services if not views.is_over(places, each)]
    answers = await asyncio.gather(
        *(_ask(request, viewer, wanted, each, places.get(each), views.PAGE_SIZE) for each in asked)
    )
    found = dict(zip(asked, answers, strict=True))
    merged = views.merge({name: each for name, each in found.items() if isinstance(each, dict)}, places)
    return page(
        request,
        viewer,
        "audit_log/list.html.j2",
        wanted=wanted,
        services=views.SERVICES,
        lines=merged.lines,
        next=merged.next,
        people=await _people(request),
        away=[each for each in answers if isinstance(each, Away)],
        refused=[each for each in answers if isinstance(each, Refused)],
        most=MOST_IN_A_FILE,
    )


async def _ask(
    request: Request, viewer: PageViewer, wanted: LogFilter, service: str, place: int | None, size: int
) -> Any:
    """Returns a page of a service's log, or that it is away or refuses."""
    arguments = wanted.arguments(viewer.person.zone)
    if service == views.OWN:
        return await _own(request, viewer, arguments, place, size)
    call = getattr(viewer, service).list_audit_log(**arguments, after=place, limit=size)
    return await viewer.ask_one(service, call)


async def _own(
    request: Request, viewer: PageViewer, arguments: dict[str, Any], place: int | None, size: int
) -> Any:
    """Returns a page of the console's own log, which is of no brand."""
    if viewer.person.brands is not None or arguments["brand"] is not None:
        return {"items": [], "next": None}
    async with parts_of(request).connections.connection() as connection:
        found = await log.page(
            connection,
            caller=arguments["caller"],
            since=arguments["since"],
            until=arguments["until"],
            before=place,
            limit=size + 1,
        )
    items = [AuditEntry.of(each).model_dump(mode="json") for each in found[:size]]
    return {"items": items, "next": items[-1]["id"] if len(found) > size else None}


async def _people(request: Request) -> dict[str, str]:
    """Names of people by the id of their key, which stays when the name changes."""
    async with parts_of(request).connections.connection() as connection:
        return {each.key_id: each.name for each in await people.list_people(connection)}


@router.get("/audit-log.json")
async def log_as_json(request: Request, viewer: Viewer) -> Response:
    found = views.rows(await _all(request, viewer), await _people(request))
    return _file(json.dumps({"items": found}, ensure_ascii=False, indent=1), "application/json", "json")


@router.get("/audit-log.csv")
async def log_as_csv(request: Request, viewer: Viewer) -> Response:
    found = views.rows(await _all(request, viewer), await _people(request))
    return _file(views.as_csv(found), "text/csv; charset=utf-8", "csv")


def _file(text: str, kind: str, ending: str) -> Response:
    name = f'attachment; filename="audit-log.{ending}"'
    return Response(text, media_type=kind, headers={"Content-Disposition": name})


async def _all(request: Request, viewer: PageViewer) -> tuple[LogLine, ...]:
    """Returns the newest MOST_IN_A_FILE entries that match.

    Raises:
        HTTPException: 503, a service does not answer, so that its entries would be missing without a word.
    """
    viewer.check_may(Scope.OPERATE)
    wanted = LogFilter.of(request.query_params)
    answers = await asyncio.gather(
        *(_all_of(request, viewer, wanted, service) for service in wanted.services)
    )
    found = dict(zip(wanted.services, answers, strict=True))
    return views.merge(found, {}, MOST_IN_A_FILE).lines


async def _all_of(request: Request, viewer: PageViewer, wanted: LogFilter, service: str) -> dict[str, Any]:
    items: list[Any] = []
    place: int | None = None
    while len(items) < MOST_IN_A_FILE:
        answer = await _ask(request, viewer, wanted, service, place, _BATCH)
        if not isinstance(answer, dict):
            raise HTTPException(
                HTTPStatus.SERVICE_UNAVAILABLE, viewer.t("audit_log.file_incomplete", service=service)
            )
        items += answer["items"]
        place = answer["next"]
        if place is None:
            break
    return {"items": items, "next": place}
