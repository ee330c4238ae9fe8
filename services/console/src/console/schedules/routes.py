"""Routes of the pages about schedules."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.api import add_routes
from chassis.http.callers import Scope
from client import RefusedError
from console.notices import UndoAct, can_undo
from console.pages import (
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once_or_refused,
    page,
    redirect,
)
from console.pages.overtaken import is_overtaken, mark_of
from console.schedules import views
from console.service_clients import PersonClients
from console.watching.pages import LivePage, read_each

NAVIGATION: Final = (NavigationEntry("schedules", "/b/{brand}/schedules", 25, is_rare=True),)
_PAGE: Final = 50
_RESUME: Final = "schedules.resume"
_MAKE: Final = "schedules.make"
_SHOWN_FIRINGS: Final = 10
_DONE: Final = frozenset({"made", "saved", "paused", "resumed", "run", "removed"})
router = APIRouter(include_in_schema=False)
buttons = APIRouter(prefix="/b/{brand}/schedules/{name}")


async def read_list(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Reads the list of schedules."""
    after = query.get("after", "")[:63] or None
    return await read_each(clients.orchestrator.list_schedules(fields["brand"], after=after, limit=_PAGE))


async def read_schedule(clients: PersonClients, fields: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The schedule with its last firings."""
    brand, name, after = fields["brand"], fields["name"], query.get("after", "")[:40] or None
    return await read_each(
        clients.orchestrator.get_schedule(brand, name),
        clients.orchestrator.list_schedule_firings(brand, name, after=after, limit=_SHOWN_FIRINGS),
    )


LIVE: Final = (
    LivePage("/b/{brand}/schedules", read_list),
    LivePage("/b/{brand}/schedules/{name}", read_schedule),
)


@router.get("/b/{brand}/schedules")
async def list_schedules(request: Request, brand: str, viewer: Viewer) -> Response:
    """The schedules of a brand in words, and the form of a new one."""
    return await _list(request, brand, viewer)


async def _list(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
    typed: dict[str, Any] | None = None,
) -> Response:
    after = request.query_params.get("after", "")[:63] or None
    parts = await viewer.gather(
        found=viewer.orchestrator.list_schedules(brand, after=after, limit=_PAGE),
        about=viewer.orchestrator.get_brand(brand, counters=False),
    )
    found = parts["found"]
    lines = [views.schedule_line(each) for each in found["items"]] if found else []
    quiet = (parts["about"] or {}).get("quiet_hours")
    zone = quiet["time_zone"] if quiet else viewer.person.zone
    return page(
        request,
        viewer,
        "schedules/list.html.j2",
        status=status,
        found=found,
        brand=brand,
        lines=lines,
        # In the zone of its own sentence, which is named where the reader's is another.
        coming={
            each.name: (
                replace(viewer.t, zone=each.zone).time(each.next[0]),
                each.zone if each.zone != viewer.person.zone else "",
            )
            for each in lines
            if each.next
        },
        next=found["next"] if found else None,
        after=after,
        refusal=refusal,
        form=typed or views.new_form(zone),
        is_open=typed is not None,
        is_audit=False,
        done=done_word(request, _DONE),
        **_choices(viewer),
    )


def _choices(viewer: PageViewer) -> dict[str, Any]:
    return {
        "rhythms": views.RHYTHMS,
        "weekdays": views.WEEKDAYS,
        "priorities": views.PRIORITIES,
        "may_submit": viewer.may(Scope.SUBMIT),
    }


@router.get("/b/{brand}/schedules/{name}")
async def show_schedule(request: Request, brand: str, name: str, viewer: Viewer) -> Response:
    """A schedule: when it fires next, what became of its last times, and its form."""
    return await _show(request, brand, name, viewer)


async def _show(
    request: Request,
    brand: str,
    name: str,
    viewer: PageViewer,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
    typed: dict[str, Any] | None = None,
) -> Response:
    after = request.query_params.get("after", "")[:40] or None
    schedule = await viewer.orchestrator.get_schedule(brand, name)
    parts = await viewer.gather(
        firings=viewer.orchestrator.list_schedule_firings(brand, name, after=after, limit=_SHOWN_FIRINGS)
    )
    firings = parts["firings"]
    # In the zone of its sentence, which the reader's need not be.
    t = replace(viewer.t, zone=schedule["time_zone"])
    return page(
        request,
        viewer,
        "schedules/schedule.html.j2",
        status=status,
        t=t,
        time=t.time,
        brand=brand,
        schedule=schedule,
        line=views.schedule_line(schedule),
        firings=firings,
        older=firings["next"] if firings else None,
        after=after,
        refusal=refusal,
        form={**(typed or views.form_of(schedule)), "name": name},
        seen=mark_of(views.form_of(schedule)),
        is_audit=schedule["kind"] == "audit",
        done=done_word(request, _DONE),
        **_choices(viewer),
    )


@router.post("/b/{brand}/schedules")
async def create_schedule(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Makes a schedule under a new name; a refused one stays in the form."""
    viewer.check_may(Scope.SUBMIT)
    typed = views.typed_form(form)
    name = typed["name"]

    refused = partial(_list, request, brand, viewer, typed=typed)
    if not views.is_name(name):
        return await refused(refusal=viewer.t("schedules.wrong.name"), status=HTTPStatus.BAD_REQUEST)
    try:
        asked = views.request_of(typed)
    except views.ScheduleFormError as error:
        return await refused(refusal=viewer.t("schedules.wrong." + error.key), status=HTTPStatus.BAD_REQUEST)

    async def act() -> Response:
        # Setting it would replace one that has the name.
        if await _exists(viewer, brand, name):
            return await refused(
                refusal=viewer.t("schedules.wrong.taken", name=name), status=HTTPStatus.CONFLICT
            )
        await viewer.orchestrator.set_schedule(brand, name, **asked)
        return redirect(request, f"/b/{brand}/schedules/{name}?done=made")

    return await once_or_refused(request, viewer, form, act, refused)


async def _exists(viewer: PageViewer, brand: str, name: str) -> bool:
    try:
        await viewer.orchestrator.get_schedule(brand, name)
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return False
        raise
    return True


@dataclass(frozen=True)
class _SchedulePress:
    """A button that was pressed on a schedule's page, or in its line of the list."""

    request: Request
    brand: str
    name: str
    viewer: Viewer
    form: FormData

    async def act(
        self, change: Callable[..., Awaitable[object]], done: str, *, undo: str = "", **told: Any
    ) -> Response:
        """Calls the orchestrator once, and shows the schedule; a refused call with its sentence."""
        self.viewer.check_may(Scope.SUBMIT)

        async def act() -> Response:
            former = await self.viewer.orchestrator.get_schedule(self.brand, self.name) if undo else None
            await change(self.brand, self.name, **told)
            back = f"/b/{self.brand}/schedules"
            path = f"{back}?done={done}" if done == "removed" else f"{back}/{self.name}?done={done}"
            # One that has handed in a part of its list would begin with it again.
            if former is None or (undo == _MAKE and former["take"] and former["handed_in"]):
                return redirect(self.request, path)
            asked = views.request_of(views.form_of(former), former) if undo == _MAKE else {}
            return await can_undo(
                self.request, self.viewer, path, undo, [self.name, self.brand, asked], back=back
            )

        return await once_or_refused(self.request, self.viewer, self.form, act, self.refused)

    async def refused(
        self, refusal: str, status: int = HTTPStatus.BAD_REQUEST, typed: dict[str, Any] | None = None
    ) -> Response:
        return await _show(
            self.request, self.brand, self.name, self.viewer, refusal=refusal, status=status, typed=typed
        )


Press = Annotated[_SchedulePress, Depends()]


@buttons.post("")
async def save_schedule(press: Press) -> Response:
    """Stores the form. Keywords that were handed in stay so if the new list has them at its beginning."""
    press.viewer.check_may(Scope.SUBMIT)
    typed, viewer = views.typed_form(press.form), press.viewer
    former = await viewer.orchestrator.get_schedule(press.brand, press.name)
    try:
        asked = views.request_of(typed, former)
    except views.ScheduleFormError as error:
        return await press.refused(viewer.t("schedules.wrong." + error.key), typed=typed)

    refused = partial(press.refused, typed=typed)

    async def act() -> Response:
        if is_overtaken(press.form, views.form_of(former)):
            return await refused(viewer.t("layout.error.overtaken"), HTTPStatus.CONFLICT)
        await viewer.orchestrator.set_schedule(press.brand, press.name, **asked)
        return redirect(press.request, f"/b/{press.brand}/schedules/{press.name}?done=saved")

    return await once_or_refused(press.request, viewer, press.form, act, refused)


@buttons.post("/pause")
async def pause_schedule(press: Press) -> Response:
    return await press.act(
        press.viewer.orchestrator.pause_schedule,
        "paused",
        undo=_RESUME,
        idempotency_key=press.form.once or None,
    )


@buttons.post("/resume")
async def resume_schedule(press: Press) -> Response:
    return await press.act(
        press.viewer.orchestrator.resume_schedule, "resumed", idempotency_key=press.form.once or None
    )


@buttons.post("/run")
async def run_schedule(press: Press) -> Response:
    """Has it fire now, besides its times."""
    return await press.act(
        press.viewer.orchestrator.run_schedule, "run", idempotency_key=press.form.once or None
    )


@buttons.post("/remove")
async def remove_schedule(press: Press) -> Response:
    """Removes the schedule; its running work continues."""
    return await press.act(press.viewer.orchestrator.delete_schedule, "removed", undo=_MAKE)


async def _undo_pause(viewer: PageViewer, thing: Sequence[Any]) -> None:
    name, brand, _ = thing
    await viewer.orchestrator.resume_schedule(brand, name)


async def _undo_removal(viewer: PageViewer, thing: Sequence[Any]) -> None:
    """Makes the schedule again, unless another person has made one of its name."""
    name, brand, asked = thing
    if not await _exists(viewer, brand, name):
        await viewer.orchestrator.set_schedule(brand, name, **asked)


UNDO: Final[dict[str, UndoAct]] = {_RESUME: _undo_pause, _MAKE: _undo_removal}
add_routes(router, buttons)
