"""Routes of the doctor's page."""

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client.message_services import MESSAGE_SERVICES
from console.doctor import views
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, once, page, redirect

EXAMINE: Final = "/doctor"
NAVIGATION: Final = (NavigationEntry("doctor", EXAMINE, 28, Scope.OPERATE),)
router = APIRouter(include_in_schema=False)


@router.get(EXAMINE)
async def show_findings(request: Request, viewer: Viewer, since: str = "") -> Response:
    """The findings of each service, from a run of the last minutes; not watched, because a run probes the servers.

    With `since`, the time when somebody asked for new ones, runs before it do not count.
    """
    viewer.check_may(Scope.OPERATE)
    is_bound = viewer.person.brands is not None
    found = {} if is_bound else await _reports(viewer, views.oldest_seconds(since, datetime.now(UTC)))
    return page(
        request,
        viewer,
        "doctor/findings.html.j2",
        found=found,
        is_bound=is_bound,
        summary=views.Summary.of(found),
        views=views,
    )


@router.post(EXAMINE)
async def examine(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Has each service look again."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        began = datetime.now(UTC)
        await _reports(viewer, views.NEW_SECONDS)
        return redirect(request, f"{EXAMINE}?since={began:%Y-%m-%dT%H:%M:%SZ}")

    return await once(request, viewer, form, act)


async def _reports(viewer: PageViewer, max_age_seconds: int) -> dict[str, Any]:
    """Each service's report of this age at most, or why there is none."""
    answers = await asyncio.gather(
        *(
            viewer.ask_one(each, getattr(viewer, each).check_servers(max_age_seconds=max_age_seconds))
            for each in MESSAGE_SERVICES
        )
    )
    return dict(zip(MESSAGE_SERVICES, answers, strict=True))
