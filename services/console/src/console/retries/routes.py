"""Routes of the page of messages that wait for another attempt."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.pages import NavigationEntry, Viewer, page
from console.retries import views
from console.retries.views import RetryFilter
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

LIST: Final = "/retries"
NAVIGATION: Final = (NavigationEntry("retries", LIST, 26, Scope.OPERATE),)
router = APIRouter(include_in_schema=False)


async def read_list(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (the path has no fields)
    """Reads what changes on the page, without the time of the answers."""
    wanted = RetryFilter.of(query)
    calls = (getattr(clients, each).list_retries(**wanted.arguments()) for each in wanted.services)
    return [
        {name: value for name, value in found.items() if name != "now"} if isinstance(found, dict) else found
        for found in await read_each(*calls)
    ]


LIVE: Final = (LivePage(LIST, read_list),)


@router.get(LIST)
async def list_retries(request: Request, viewer: Viewer) -> Response:
    """The messages that the filter in the address matches, of each service, the next to be due first."""
    viewer.check_may(Scope.OPERATE)
    wanted = RetryFilter.of(request.query_params)
    is_bound = viewer.person.brands is not None
    asked = () if is_bound else wanted.services
    answers = await asyncio.gather(
        *(viewer.ask_one(each, getattr(viewer, each).list_retries(**wanted.arguments())) for each in asked)
    )
    return page(
        request,
        viewer,
        "retries/list.html.j2",
        wanted=wanted,
        services=views.SERVICES,
        found=dict(zip(asked, answers, strict=True)),
        is_bound=is_bound,
        is_overdue=views.is_overdue,
    )
