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
from console.backbone.attention import Trouble, troubles_of
from console.notices import Notice, told
from console.pages import FormData, NavigationEntry, PageViewer, Viewer, once_or_refused, page
from console.pages.parts import parts_of
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

SHOW: Final = "/backbone"
_DOCTOR_SECONDS: Final = 4.0
"""The page waits at most so long for probes."""
_PROBED_SECONDS_AGO: Final = 300
"""Probes are not run again for the page before; they cost more than everything else on it."""
_NOT_WATCHED: Final = frozenset({"now", "doctor"})
"""What changes with each answer, and the report, which has a time of its own."""
NAVIGATION: Final = (NavigationEntry("backbone", SHOW, 27, Scope.OPERATE),)
router = APIRouter(include_in_schema=False)


async def read_backbone(
    clients: PersonClients,
    fields: Mapping[str, str],  # noqa: ARG001  (the path has none)
    query: Mapping[str, str],  # noqa: ARG001  (nor does the address)
) -> Any:
    """Reads what changes on the page, without the time of the answers."""
    calls = (getattr(clients, each).get_backbone() for each in MESSAGE_SERVICES)
    found = await read_each(
        *calls,
        clients.monitor.list_dead_letters(state="open", limit=1),
        clients.monitor.get_ledger(),
        clients.monitor.get_alerts(),
    )
    *parts, letters, ledger, alerts = found
    return [
        *(
            {name: value for name, value in part.items() if name not in _NOT_WATCHED}
            if isinstance(part, dict)
            else part
            for part in parts
        ),
        letters.get("open", letters),
        ledger.get("missing", ledger),
        [[each["id"], each["state"]] for each in alerts["alerts"]] if "alerts" in alerts else alerts,
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
    parts, troubles = ({}, []) if is_bound else await _read(viewer)
    return page(
        request,
        viewer,
        "backbone/services.html.j2",
        status=status,
        refusal=refusal,
        found=parts,
        troubles=troubles,
        message_services=MESSAGE_SERVICES,
        is_bound=is_bound,
        is_late=views.is_late,
        rate=partial(views.rate, language=viewer.t.language),
    )


async def _read(viewer: PageViewer) -> tuple[dict[str, Any], list[Trouble]]:
    """Each service's part, and what needs an operator now."""
    monitor = viewer.monitor
    gateway, letters, ledger, alerts, *answers = await asyncio.gather(
        viewer.ask_one("gateway", viewer.gateway.list_providers()),
        viewer.ask_one("monitor", monitor.summarize_dead_letters(state="open")),
        viewer.ask_one("monitor", monitor.get_ledger()),
        viewer.ask_one("monitor", monitor.get_alerts()),
        *(viewer.ask_one(each, getattr(viewer, each).get_backbone()) for each in MESSAGE_SERVICES),
    )
    parts = dict(zip(MESSAGE_SERVICES, answers, strict=True))
    reports = await asyncio.gather(*(_report(viewer, service, part) for service, part in parts.items()))
    return parts, troubles_of(
        parts,
        gateway=gateway,
        letters=letters,
        ledger=ledger,
        alerts=alerts,
        findings=dict(zip(parts, reports, strict=True)),
    )


async def _report(viewer: PageViewer, service: str, part: Any) -> Any:
    """What the doctor of a service has found lately; None if its probes take long, as they do while a server is away.

    The service's own part of the page has it, unless nobody has asked that doctor for some minutes.
    """
    if isinstance(part, Mapping) and part.get("doctor"):
        return part["doctor"]
    asked = viewer.ask_one(
        service, getattr(viewer, service).check_servers(max_age_seconds=_PROBED_SECONDS_AGO)
    )
    try:
        return await asyncio.wait_for(asked, _DOCTOR_SECONDS)
    except TimeoutError:
        return None
