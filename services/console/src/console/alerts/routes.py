"""Routes of the page of alerts, rules and silences."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.notices import Notice, told
from console.notifications.views import KINDS
from console.pages import Form, FormData, NavigationEntry, PageViewer, Viewer, once_or_refused, page
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_or_away

SHOW: Final = "/alerts"
HOURS: Final = (1, 4, 24, 72, 168)
"""How long the page offers to silence an alert."""
NAVIGATION: Final = (NavigationEntry("alerts", SHOW, 28, Scope.OPERATE),)
TONES: Final = {"critical": "bad", "warning": "warn"}
router = APIRouter(include_in_schema=False)


async def read_alerts(
    clients: PersonClients,
    fields: Mapping[str, str],  # noqa: ARG001  (the path has none)
    query: Mapping[str, str],  # noqa: ARG001  (nor does the address)
) -> Any:
    """Reads what changes on the page, without the time of the answer."""
    found = await read_or_away(clients.monitor.get_alerts())
    return {name: value for name, value in found.items() if name != "now"}


LIVE: Final = (LivePage(SHOW, read_alerts),)


@router.get(SHOW)
async def get_alerts(request: Request, viewer: Viewer) -> Response:
    """What fires, who has seen it, what is silenced until when, and all rules."""
    viewer.check_may(Scope.OPERATE)
    return await _show(request, viewer)


@router.post(SHOW)
async def change_alerts(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Acknowledges an alert, silences it, or ends a silence."""
    viewer.check_may(Scope.OPERATE)
    acts = {"acknowledge": _acknowledge, "silence": _silence, "end": _end}
    act = acts.get(form.text("do"))
    if act is None:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("alerts.no_verb"))

    async def perform() -> Response:
        return await told(request, viewer, SHOW, await act(viewer, form))

    return await once_or_refused(request, viewer, form, perform, partial(_show, request, viewer))


async def _acknowledge(viewer: PageViewer, form: Form) -> Notice:
    answer = await viewer.monitor.acknowledge_alert(
        form.text("alert"), note=form.text("note"), by=viewer.person.name
    )
    word = "acknowledged" if answer["is_changed"] else "was_acknowledged"
    fields = {"name": form.text("name"), "by": answer["acknowledged"]["by"]}
    return Notice(f"alerts.{word}", fields)


async def _silence(viewer: PageViewer, form: Form) -> Notice:
    hours = form.text("hours")
    if hours not in map(str, HOURS):
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, viewer.t("alerts.no_hours"))
    ends_at = datetime.now(UTC) + timedelta(hours=int(hours))
    await viewer.monitor.set_alert_silence(
        form.text("alert"),
        reason=form.text("reason"),
        ends_at=ends_at.isoformat(),
        of_whole_rule="whole" in form,
        by=viewer.person.name,
    )
    return Notice("alerts.silenced", {"name": form.text("name"), "n": int(hours)})


async def _end(viewer: PageViewer, form: Form) -> Notice:
    answer = await viewer.monitor.close_alert_silence(form.text("silence"), by=viewer.person.name)
    return Notice("alerts.ended" if answer["is_changed"] else "alerts.was_over", {})


async def _show(
    request: Request, viewer: PageViewer, *, refusal: str = "", status: int = HTTPStatus.OK
) -> Response:
    is_bound = not viewer.may_see_backbone
    found = None if is_bound else await viewer.ask_one("monitor", viewer.monitor.get_alerts())
    return page(
        request,
        viewer,
        "alerts/alerts.html.j2",
        status=status,
        refusal=refusal,
        is_bound=is_bound,
        found=found,
        hours=HOURS,
        kinds=KINDS,
        tones=TONES,
    )
