"""Routes of the page of messages that wait for another attempt, and of what an operator does with them."""

import asyncio
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client.message_services import MESSAGE_SERVICES
from console.notices import told
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, once_or_refused, page
from console.retries import views
from console.retries.acting import MOST_AT_ONCE, VERBS, act_on_many
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
    return await _list(request, viewer, RetryFilter.of(request.query_params))


async def _list(
    request: Request,
    viewer: PageViewer,
    wanted: RetryFilter,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    is_bound = viewer.person.brands is not None
    asked = () if is_bound else wanted.services
    answers = await asyncio.gather(
        *(viewer.ask_one(each, getattr(viewer, each).list_retries(**wanted.arguments())) for each in asked)
    )
    return page(
        request,
        viewer,
        "retries/list.html.j2",
        status=status,
        refusal=refusal,
        most_at_once=MOST_AT_ONCE,
        wanted=wanted,
        services=MESSAGE_SERVICES,
        found=dict(zip(asked, answers, strict=True)),
        is_bound=is_bound,
        is_overdue=views.is_overdue,
    )


@router.post(LIST)
async def change_retries(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Runs or cancels the checked messages of a service, or all that matched when the page was made."""
    viewer.check_may(Scope.OPERATE)
    wanted = RetryFilter.of({name: form.text(name) for name in ("service", "type", "chain")})
    if form.text("do") not in VERBS or not wanted.service:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("retries.no_verb"))

    async def act() -> Response:
        outcome = await act_on_many(viewer, form, wanted)
        return await told(request, viewer, LIST + wanted.query(), outcome.notice(form.text("do")))

    return await once_or_refused(request, viewer, form, act, partial(_list, request, viewer, wanted))
