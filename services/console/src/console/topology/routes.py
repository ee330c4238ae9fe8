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
    parts, topology = ({}, None) if is_bound else await _read(viewer)
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


async def _read(viewer: PageViewer) -> tuple[dict[str, Any], Any]:
    """What each service knows of its queues, and the routes: all services of a version know the same of those."""
    first, *others = MESSAGE_SERVICES
    found, *answers = await asyncio.gather(
        viewer.ask_one(first, getattr(viewer, first).get_topology()),
        *(viewer.ask_one(each, getattr(viewer, each).get_backbone()) for each in MESSAGE_SERVICES),
    )
    parts = dict(zip(MESSAGE_SERVICES, answers, strict=True))
    # The others are asked one after another, those that answered before those that did not.
    for service in sorted(others, key=lambda each: not isinstance(parts[each], dict)):
        if isinstance(found, dict) or not isinstance(parts[service], dict):
            break
        found = await viewer.ask_one(service, getattr(viewer, service).get_topology())
    return parts, found
