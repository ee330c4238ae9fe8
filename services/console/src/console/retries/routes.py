"""Routes of the page of messages that wait for another attempt."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from console.pages import NavigationEntry, PageViewer, Viewer, page
from console.retries import views
from console.retries.views import RetryFilter
from console.service_clients import PersonClients, sentence_of
from console.watching.pages import LivePage, read_each

LIST: Final = "/retries"
NAVIGATION: Final = (NavigationEntry("retries", LIST, 26, Scope.OPERATE),)
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """Stands for the list of a service that refuses the person's key."""

    service: str
    sentence: str


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
    answers = await asyncio.gather(*(_ask(viewer, each, wanted) for each in asked))
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


async def _ask(viewer: PageViewer, service: str, wanted: RetryFilter) -> Any:
    """Returns a page of a service's list, or that it is away or refuses."""
    try:
        parts = await viewer.gather(found=getattr(viewer, service).list_retries(**wanted.arguments()))
    except RefusedError as error:
        return Refused(service, sentence_of(error, viewer.t))
    return parts["found"]
