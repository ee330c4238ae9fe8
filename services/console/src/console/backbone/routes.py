"""Routes of the page of queues, outboxes and services."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client.message_services import MESSAGE_SERVICES
from console.backbone import views
from console.pages import NavigationEntry, Viewer, page
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

SHOW: Final = "/backbone"
NAVIGATION: Final = (NavigationEntry("backbone", SHOW, 27, Scope.OPERATE),)
router = APIRouter(include_in_schema=False)


async def read_backbone(
    clients: PersonClients,
    fields: Mapping[str, str],  # noqa: ARG001  (the path has none)
    query: Mapping[str, str],  # noqa: ARG001  (nor does the address)
) -> Any:
    """Reads what changes on the page, without the time of the answers."""
    calls = (getattr(clients, each).get_backbone() for each in MESSAGE_SERVICES)
    return [
        {name: value for name, value in found.items() if name != "now"} if isinstance(found, dict) else found
        for found in await read_each(*calls)
    ]


LIVE: Final = (LivePage(SHOW, read_backbone),)


@router.get(SHOW)
async def get_backbone(request: Request, viewer: Viewer) -> Response:
    """Each service's own part, beside those of others."""
    viewer.check_may(Scope.OPERATE)
    is_bound = viewer.person.brands is not None
    asked = () if is_bound else MESSAGE_SERVICES
    answers = await asyncio.gather(
        *(viewer.ask_one(each, getattr(viewer, each).get_backbone()) for each in asked)
    )
    return page(
        request,
        viewer,
        "backbone/services.html.j2",
        found=dict(zip(asked, answers, strict=True)),
        is_bound=is_bound,
        is_late=views.is_late,
    )
