"""Routes of the pages about notification routes: list, add, change, try, remove."""

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from chassis.time_zones import zone_names
from client import RefusedError
from console.ids import parse_id
from console.list_filters import safe_link
from console.notifications import views
from console.notifications.views import RouteFields
from console.pages import (
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once,
    once_or_refused,
    page,
    redirect,
)

if TYPE_CHECKING:
    from client.services.monitor import answers

NAVIGATION: Final = (NavigationEntry("notifications", "/notifications", 20, Scope.OPERATE),)
DONE: Final = ("saved", "removed", "acknowledged")
"""What the page says was done, by the word in its address."""
_SHOWN: Final = 20
router = APIRouter(include_in_schema=False)


@router.get("/notifications")
async def list_routes(request: Request, viewer: Viewer) -> Response:
    """What was noticed, the routes, each with whether it works, and the messages that were sent last."""
    viewer.check_may(Scope.OPERATE)
    return await _list(request, viewer)


async def _list(
    request: Request,
    viewer: PageViewer,
    tried: "answers.MessageView | None" = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    is_over_too = "over" in request.query_params
    parts = await viewer.gather(
        noticed=viewer.monitor.list_notifications(
            open=None if is_over_too else True,
            after=parse_id(request.query_params.get("after", "")),
            limit=_SHOWN,
        ),
        found=viewer.monitor.list_notification_routes(),
        messages=viewer.monitor.list_notification_messages(limit=_SHOWN),
    )
    return page(
        request,
        viewer,
        "notifications/list.html.j2",
        status=status,
        **parts,
        tried=tried,
        refusal=refusal,
        tones=views.MESSAGE_TONES,
        severity_tones=views.SEVERITY_TONES,
        is_over_too=is_over_too,
        is_continued="after" in request.query_params,
        safe=safe_link,
        done=done_word(request, DONE),
        may_change=_may_change(viewer),
    )


def _may_change(viewer: PageViewer) -> bool:
    """Brands share the names and accounts of routes, so a change takes access to all."""
    return viewer.may(Scope.OPERATE) and viewer.person.brands is None


def _check_may_change(viewer: PageViewer) -> None:
    viewer.check_may(Scope.OPERATE)
    if not _may_change(viewer):
        raise HTTPException(HTTPStatus.FORBIDDEN, viewer.t("notifications.all_brands_needed"))


@router.post("/notifications/noticed/{notification_id}/acknowledge")
async def acknowledge(request: Request, notification_id: UUID, viewer: Viewer, form: FormData) -> Response:
    """Says that the person takes care of it: routes tell only its end from then on."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.monitor.acknowledge_notification(notification_id, idempotency_key=form.once or None)
        return redirect(request, "/notifications?done=acknowledged")

    return await once_or_refused(request, viewer, form, act, partial(_list, request, viewer))


@router.get("/notifications/new")
async def show_new(request: Request, viewer: Viewer) -> Response:
    _check_may_change(viewer)
    return await _form(request, viewer, RouteFields(zone=viewer.person.zone), is_new=True)


@router.get("/notifications/routes/{name}")
async def show_route(request: Request, name: str, viewer: Viewer) -> Response:
    _check_may_change(viewer)
    found = await viewer.monitor.get_notification_route(name)
    return await _form(request, viewer, views.fields_of(found, viewer.person.zone), is_new=False)


async def _form(
    request: Request,
    viewer: PageViewer,
    fields: RouteFields,
    *,
    is_new: bool,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    parts = await viewer.gather(accounts=viewer.gateway.list_accounts())
    accounts = parts["accounts"]
    return page(
        request,
        viewer,
        "notifications/route.html.j2",
        status=status,
        **parts,
        fields=fields,
        is_new=is_new,
        refusal=refusal,
        choices=views.account_choices(accounts["items"] if accounts else [], fields.account),
        kinds=views.KINDS,
        weekdays=views.WEEKDAYS,
        zones=sorted({*zone_names(), fields.zone} - {""}),
    )


@router.post("/notifications/new")
async def add_route(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Makes a route; one that exists is not overwritten."""
    _check_may_change(viewer)
    fields = views.typed_fields(form)

    async def act() -> Response:
        if await _if_known(viewer, fields.name) is not None:
            refusal = viewer.t("notifications.exists", name=fields.name)
            return await _form(
                request, viewer, fields, is_new=True, refusal=refusal, status=HTTPStatus.CONFLICT
            )
        await _store(viewer, fields.name, fields)
        return redirect(request, "/notifications?done=saved")

    refused = partial(_form, request, viewer, fields, is_new=True)
    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/notifications/routes/{name}")
async def change_route(request: Request, name: str, viewer: Viewer, form: FormData) -> Response:
    """Stores the settings of a route, unless another person changed it since the form was shown."""
    _check_may_change(viewer)
    fields = views.typed_fields(form)

    async def act() -> Response:
        now = await viewer.monitor.get_notification_route(name)
        if now["updated_at"] != fields.version:
            return await _changed_meanwhile(request, viewer, fields, now)
        await _store(viewer, name, fields)
        return redirect(request, "/notifications?done=saved")

    refused = partial(_form, request, viewer, fields, is_new=False)
    return await once_or_refused(request, viewer, form, act, refused)


async def _changed_meanwhile(
    request: Request, viewer: PageViewer, fields: RouteFields, now: "answers.RouteView"
) -> Response:
    """Shows the form with what was typed, which replaces the other person's change if it is sent again."""
    typed = {name: getattr(fields, name) for name in RouteFields.__slots__} | {"version": now["updated_at"]}
    return await _form(
        request,
        viewer,
        RouteFields(**typed),
        is_new=False,
        refusal=viewer.t("notifications.changed_meanwhile"),
        status=HTTPStatus.CONFLICT,
    )


async def _if_known(viewer: PageViewer, name: str) -> "answers.RouteView | None":
    try:
        return await viewer.monitor.get_notification_route(name)
    except RefusedError as error:
        # A malformed name is refused when the route is stored.
        if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}:
            return None
        raise


async def _store(viewer: PageViewer, name: str, fields: RouteFields) -> None:
    wanted = views.wanted_route(fields)
    await viewer.monitor.set_notification_route(name, account=wanted.pop("account"), extra=wanted)


@router.post("/notifications/routes/{name}/remove")
async def remove_route(request: Request, name: str, viewer: Viewer, form: FormData) -> Response:
    """Removes a route; its messages stay in the log."""
    _check_may_change(viewer)

    async def act() -> Response:
        await viewer.monitor.delete_notification_route(name)
        return redirect(request, "/notifications?done=removed")

    return await once(request, viewer, form, act)


@router.post("/notifications/routes/{name}/test")
async def try_route(request: Request, name: str, viewer: Viewer, form: FormData) -> Response:
    """Sends a test message now and shows what became of it."""
    _check_may_change(viewer)

    async def act() -> Response:
        sent = await viewer.monitor.test_notification_route(name, idempotency_key=form.once)
        return await _list(request, viewer, sent)

    refused = partial(_list, request, viewer)
    return await once_or_refused(request, viewer, form, act, refused)


@router.get("/notifications/routes/{name}/test")
@router.get("/notifications/routes/{name}/remove")
async def show_list_again(
    request: Request,
    name: str,  # noqa: ARG001  (of the address)
    viewer: Viewer,  # noqa: ARG001  (a person has to be signed in)
) -> Response:
    """A reload of the page with a test's outcome leads to the list, and sends nothing."""
    return redirect(request, "/notifications")
