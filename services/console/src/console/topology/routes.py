"""Routes of the picture of the topology."""

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client.message_services import MESSAGE_SERVICES
from console.backbone.routes import read_backbone
from console.backbone.views import rate
from console.pages import PageViewer, Viewer, page
from console.topology import views
from console.watching.pages import LivePage

SHOW: Final = "/backbone/topology"
LIVE: Final = (LivePage(SHOW, read_backbone),)
router = APIRouter(include_in_schema=False)


@router.get(SHOW)
async def get_topology(request: Request, viewer: Viewer) -> Response:
    """The routes as the catalogue has them, with what each service knows of its queues."""
    viewer.check_may(Scope.OPERATE)
    is_bound = not viewer.may_see_backbone
    asked = () if is_bound else MESSAGE_SERVICES
    answers = await asyncio.gather(
        *(viewer.ask_one(each, getattr(viewer, each).get_backbone()) for each in asked)
    )
    parts = dict(zip(asked, answers, strict=True))
    topology = None if is_bound else await _read_topology(viewer, parts)
    return page(
        request,
        viewer,
        "topology/topology.html.j2",
        status=HTTPStatus.OK,
        is_bound=is_bound,
        parts=parts,
        topology=topology,
        picture=views.draw(topology, parts) if isinstance(topology, dict) else None,
        rate=partial(rate, language=viewer.t.language),
    )


async def _read_topology(viewer: PageViewer, parts: dict[str, Any]) -> Any:
    """Asks one service after another, those that answered first: all of a version know the same."""
    found: Any = None
    for service in sorted(parts, key=lambda each: not isinstance(parts[each], dict)):
        found = await viewer.ask_one(service, getattr(viewer, service).get_topology())
        if isinstance(found, dict) or not isinstance(parts[service], dict):
            break
    return found
