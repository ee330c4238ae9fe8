"""Routes of the doctor's page."""

import asyncio
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client.message_services import MESSAGE_SERVICES
from console.doctor import views
from console.pages import NavigationEntry, Viewer, page

EXAMINE: Final = "/doctor"
NAVIGATION: Final = (NavigationEntry("doctor", EXAMINE, 28, Scope.OPERATE),)
router = APIRouter(include_in_schema=False)


@router.get(EXAMINE)
async def examine(request: Request, viewer: Viewer) -> Response:
    """The findings of each service. Not watched: each reading probes the servers, at most every ten seconds."""
    viewer.check_may(Scope.OPERATE)
    is_bound = viewer.person.brands is not None
    asked = () if is_bound else MESSAGE_SERVICES
    answers = await asyncio.gather(
        *(viewer.ask_one(each, getattr(viewer, each).check_servers()) for each in asked)
    )
    found = dict(zip(asked, answers, strict=True))
    return page(
        request,
        viewer,
        "doctor/findings.html.j2",
        found=found,
        is_bound=is_bound,
        summary=views.Summary.of(found),
        views=views,
    )
