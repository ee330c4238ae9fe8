"""`/b/{brand}/calendar/slots/{account}`: the weekly slots of an account, the next free ones, and the order of its queue."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from chassis.time_zones import zone_names
from client import RefusedError
from console.accounts.connected import connected_names
from console.calendar import slots
from console.notices import Notice, Undo, UndoAct, told
from console.pages import FormData, PageViewer, Viewer, once_or_refused, page, redirect
from console.pages.overtaken import is_overtaken, mark_of

router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/calendar/slots")
async def find_slots(request: Request, brand: str, viewer: Viewer) -> Response:  # noqa: ARG001  (a person has to be signed in)
    """Leads to the slots of the account that a form names."""
    name = request.query_params.get("account", "").strip()
    path = f"/b/{brand}/calendar"
    return redirect(request, f"{path}/slots/{name}" if slots.is_account(name) else path)


@router.get("/b/{brand}/calendar/slots/{account}")
async def show_slots(request: Request, brand: str, account: str, viewer: Viewer) -> Response:
    return await _show(request, brand, account, viewer)


async def _show(
    request: Request,
    brand: str,
    account: str,
    viewer: PageViewer,
    *,
    typed: dict[str, Any] | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    found = await _slots(viewer, brand, account)
    parts = await viewer.gather(queue=viewer.social.get_account_queue(brand, account))
    names = await connected_names(viewer, brand)
    form = typed or slots.form_of(found, viewer.person.zone)
    zone = found["time_zone"] if found else viewer.person.zone
    t = replace(viewer.t, zone=zone)
    return page(
        request,
        viewer,
        "calendar/slots.html.j2",
        status=status,
        t=t,
        time=t.time,
        brand=brand,
        account=account,
        found=found,
        is_unknown=names is not None and account not in names,
        form=form,
        seen=mark_of(slots.settings_of(found)),
        weekdays=slots.WEEKDAYS,
        zones=sorted(zone_names() | {form["zone"]} - {""}),
        zone=zone,
        refusal=refusal,
        may_operate=viewer.may(Scope.OPERATE),
        may_review=viewer.may(Scope.REVIEW),
        **parts,
    )


async def _slots(viewer: PageViewer, brand: str, account: str) -> Any:
    """The slots of an account; None if it has none."""
    try:
        return await viewer.social.get_account_slots(brand, account)
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


@router.post("/b/{brand}/calendar/slots/{account}")
async def set_slots(request: Request, brand: str, account: str, viewer: Viewer, form: FormData) -> Response:
    """Stores the slots, or removes all of them. New posts follow them, and planned ones keep their time."""
    viewer.check_may(Scope.OPERATE)
    typed = slots.typed_form(form)
    path = f"/b/{brand}/calendar/slots/{account}"
    refused = partial(_show, request, brand, account, viewer, typed=typed)

    async def act() -> Response:
        former = await _slots(viewer, brand, account)
        if is_overtaken(form, slots.settings_of(former)):
            return await refused(refusal=viewer.t("layout.error.overtaken"), status=HTTPStatus.CONFLICT)
        undo = Undo("calendar.slots", [[account, brand, slots.settings_of(former)]])
        if form.text("do") == "remove":
            await viewer.social.delete_account_slots(brand, account)
            return await told(request, viewer, path, Notice("calendar.slots_page.removed", undo=undo))
        await viewer.social.set_account_slots(brand, account, extra=slots.asked_of(typed))
        return await told(request, viewer, path, Notice("calendar.slots_page.saved", undo=undo))

    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/calendar/slots/{account}/order")
async def order_queue(request: Request, brand: str, account: str, viewer: Viewer, form: FormData) -> Response:
    """Moves one post of the queue a place up or down, or closes gaps; all get their slots anew."""
    viewer.check_may(Scope.REVIEW)
    path = f"/b/{brand}/calendar/slots/{account}"

    async def act() -> Response:
        queue = await viewer.social.get_account_queue(brand, account)
        before = [each["post_id"] for each in queue["items"]]
        wanted = slots.moved(before, form.text("move"))
        await viewer.social.set_account_queue(brand, account, post_ids=wanted)
        undo = Undo("calendar.queue", [[account, brand, before]])
        return await told(request, viewer, f"{path}#queue", Notice("calendar.slots_page.ordered", undo=undo))

    return await once_or_refused(request, viewer, form, act, partial(_show, request, brand, account, viewer))


async def _undo_slots(viewer: PageViewer, thing: Sequence[Any]) -> None:
    account, brand, former = thing
    if former is None:
        await viewer.social.delete_account_slots(brand, account)
    else:
        await viewer.social.set_account_slots(brand, account, extra=former)


async def _undo_order(viewer: PageViewer, thing: Sequence[Any]) -> None:
    """Puts a queue into its former order, without what has gone out meanwhile."""
    account, brand, ids = thing
    queue = await viewer.social.get_account_queue(brand, account)
    there = {each["post_id"] for each in queue["items"]}
    await viewer.social.set_account_queue(brand, account, post_ids=[each for each in ids if each in there])


UNDO: Final[Mapping[str, UndoAct]] = {"calendar.slots": _undo_slots, "calendar.queue": _undo_order}
