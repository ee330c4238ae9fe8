"""Routes of the page of messages, handled and running ones too."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client.message_services import MESSAGE_SERVICES
from console.messages import views
from console.messages.views import MessageFilter
from console.pages import NavigationEntry, Viewer, page
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

LIST: Final = "/messages"
NAVIGATION: Final = (NavigationEntry("messages", LIST, 24, Scope.OPERATE),)
router = APIRouter(include_in_schema=False)
_CHANGING: Final = frozenset({"now", "seen_at", "chains_since", "reaches_back_to"})
"""Fields that differ in each answer, though nothing has happened."""


async def read_list(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:  # noqa: ARG001  (the path has no fields)
    """Reads what changes on the page, without the times of the answers."""
    wanted = MessageFilter.of(query)
    arguments = wanted.arguments("UTC")
    lists = (getattr(clients, each).list_messages(**arguments, running=True) for each in wanted.services)
    return [_lasting(found) for found in await read_each(*lists)]


def _lasting(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _lasting(value) for name, value in found.items() if name not in _CHANGING}
    return [_lasting(each) for each in found] if isinstance(found, list) else found


LIVE: Final = (LivePage(LIST, read_list),)


@router.get(LIST)
async def list_messages(request: Request, viewer: Viewer) -> Response:
    """The messages that the filter in the address matches and those in handlers, of each service."""
    viewer.check_may(Scope.OPERATE)
    wanted = MessageFilter.of(request.query_params)
    is_bound = viewer.person.brands is not None
    asked = () if is_bound or wanted.is_no_id else wanted.services
    arguments = wanted.arguments(viewer.person.zone)
    answers = await asyncio.gather(
        *(
            viewer.ask_one(each, getattr(viewer, each).list_messages(**arguments, running=True))
            for each in asked
        )
    )
    return page(
        request,
        viewer,
        "messages/list.html.j2",
        wanted=wanted,
        services=MESSAGE_SERVICES,
        states=views.STATES,
        found=dict(zip(asked, answers, strict=True)),
        is_bound=is_bound,
        is_overdue=views.is_overdue,
    )
