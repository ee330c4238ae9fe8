"""Routes of the page of queues, outboxes and services, and of the pauses of queues."""

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
from console.backbone import views
from console.notices import Notice, told
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, once_or_refused, page
from console.pages.parts import parts_of
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
    return await _show(request, viewer)


@router.post(SHOW)
async def change_pause(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Pauses the consumers of a queue, or ends the pause that the page has shown."""
    viewer.check_may(Scope.OPERATE)
    service, queue, verb = form.text("service"), form.text("queue"), form.text("do")
    if service not in MESSAGE_SERVICES or verb not in {"pause", "resume"}:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("backbone.no_verb"))
    client = getattr(viewer, service)

    async def act() -> Response:
        by = viewer.person.name
        if verb == "pause":
            answer = await client.pause_queue(queue=queue, reason=form.text("reason"), by=by)
        else:
            answer = await client.resume_queue(queue=queue, since=form.text("since") or None, by=by)
        parts_of(request).paused_queues.forget(service)
        word = views.word_of_change(verb, answer)
        pause = answer["pause"] or {"by": ""}
        return await told(
            request, viewer, SHOW, Notice(f"backbone.{word}", {"queue": queue, "by": pause["by"]})
        )

    return await once_or_refused(request, viewer, form, act, partial(_show, request, viewer))


async def _show(
    request: Request, viewer: PageViewer, *, refusal: str = "", status: int = HTTPStatus.OK
) -> Response:
    is_bound = viewer.person.brands is not None
    asked = () if is_bound else MESSAGE_SERVICES
    answers = await asyncio.gather(
        *(viewer.ask_one(each, getattr(viewer, each).get_backbone()) for each in asked)
    )
    return page(
        request,
        viewer,
        "backbone/services.html.j2",
        status=status,
        refusal=refusal,
        found=dict(zip(asked, answers, strict=True)),
        is_bound=is_bound,
        is_late=views.is_late,
        rate=partial(views.rate, language=viewer.t.language),
    )
