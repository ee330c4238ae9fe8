"""Routes of the page of throughput, times and dead letters by day."""

import asyncio
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client.message_services import MESSAGE_SERVICES
from console.figures import views
from console.pages import Viewer, page

SHOW: Final = "/backbone/figures"
router = APIRouter(include_in_schema=False)


@router.get(SHOW)
async def get_figures(request: Request, viewer: Viewer, hours: str = "24", until: str = "") -> Response:
    """Each service's own figures, added up; a service that is away is named."""
    viewer.check_may(Scope.OPERATE)
    if hours not in map(str, views.SPANS):
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("figures.no_span"))
    span = int(hours)
    ending = _moment(until, viewer.t("figures.no_moment"))
    is_bound = not viewer.may_see_backbone
    asked = () if is_bound else MESSAGE_SERVICES
    calls = [
        viewer.ask_one(each, getattr(viewer, each).get_figures(hours=span, until=ending)) for each in asked
    ]
    if not is_bound:
        calls.append(viewer.ask_one("monitor", viewer.monitor.count_dead_letters_by_day(days=7)))
    answers = await asyncio.gather(*calls)
    dead_letters = answers.pop() if answers else None
    parts = dict(zip(asked, answers, strict=True))
    found = {service: part for service, part in parts.items() if isinstance(part, dict)}
    return page(
        request,
        viewer,
        "figures/figures.html.j2",
        is_bound=is_bound,
        parts=parts,
        found=found,
        span=span,
        spans=views.SPANS,
        until=until,
        earlier=_earlier(found),
        minutes=views.by_minute(found) if found else None,
        hours=views.by_hour(found) if found else None,
        types=views.types(found) if found else [],
        days=views.by_day(dead_letters) if isinstance(dead_letters, dict) else None,
        dead_letters=dead_letters,
        duration=partial(views.duration, language=viewer.t.language),
    )


def _moment(text: str, problem: str) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, problem)
    return found


def _earlier(found: views.Found) -> str | None:
    """The end of the span before, if there are figures of it."""
    if not found:
        return None
    kept = [datetime.fromisoformat(each["kept_since"]) for each in found.values() if each["kept_since"]]
    since = datetime.fromisoformat(next(iter(found.values()))["since"])
    if not kept or min(kept) >= since:
        return None
    return (since - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
