"""Routes of the settings of a brand, of its pause, and of its erasure."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from chassis.http.callers import Scope
from chassis.time_zones import zone_names
from client import RefusedError
from client.connections import etag_of
from console.brand_archives import store as brand_archives
from console.brand_settings import views
from console.brand_settings.exporting import TooManyExportsError, begin_export
from console.calendar import links as calendar_links
from console.drafts import notes
from console.list_filters import safe_link
from console.notices import UndoAct, can_undo
from console.pages import (
    Form,
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
from console.pages.parts import parts_of
from console.saved_views import store as saved_views
from console.service_clients import PersonClients
from console.sign_in.confirming import confirm_password
from console.watching.pages import LivePage, read_each

if TYPE_CHECKING:
    from client.services.orchestrator import answers

NAVIGATION: Final = (NavigationEntry("brand_settings", "/b/{brand}/settings", 130),)
DONE: Final = ("saved", "nothing", "paused", "resumed", "may_export")
"""What the page says was done, by the word in its address."""
_OPERATION: Final = "PUT /v1/brands/{slug}"
_UNKNOWN_TAG: Final = '"unknown"'
router = APIRouter(include_in_schema=False)


async def read_erasure(
    clients: PersonClients,
    fields: Mapping[str, str],
    query: Mapping[str, str],  # noqa: ARG001  (every reading gets one)
) -> Any:
    """Reads the state of an erasure for its page."""
    return await read_each(clients.orchestrator.get_brand_erasure(fields["brand"]))


LIVE: Final = (LivePage("/b/{brand}/settings/erase", read_erasure),)


@router.get("/b/{brand}/settings")
async def show_settings(request: Request, brand: str, viewer: Viewer) -> Response:
    return await _settings(request, brand, viewer)


async def _settings(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    about = await viewer.orchestrator.get_brand(brand, counters=False)
    current = views.fields_of(about["policy"], viewer.person.zone)
    etag, fields, shown = etag_of(about) or "", current, current
    is_conflict = status == HTTPStatus.PRECONDITION_FAILED
    meanwhile: tuple[views.MeanwhileChange, ...] = ()
    changed_by = None
    if form is not None:
        fields = views.typed_fields(form)
        if is_conflict:
            merged = views.merge(fields, views.typed_fields(form, "was-"), current)
            fields, meanwhile = merged.fields, merged.meanwhile
            changed_by = await _last_change(viewer, brand)
        else:
            # Not the present ones: a change of another person has still to be noticed.
            etag, shown = form.text("etag"), views.typed_fields(form, "was-")
    zones = zone_names() | {fields["quiet_zone"], current["quiet_zone"]}
    return page(
        request,
        viewer,
        "brand_settings/settings.html.j2",
        status=status,
        about=about,
        brand=brand,
        groups=views.GROUPS,
        fields=fields,
        shown=shown,
        etag=etag,
        zones=sorted(zones - {""}),
        meanwhile=meanwhile,
        changed_by=changed_by,
        is_conflict=is_conflict,
        refusal="" if is_conflict else refusal,
        done=done_word(request, DONE),
        may_operate=viewer.may(Scope.OPERATE),
        may_administer=viewer.person.is_owner,
        # A move pauses its brand.
        move=await _move(viewer, brand) if about["paused_at"] and viewer.person.is_owner else None,
    )


async def _move(viewer: PageViewer, brand: str) -> "answers.BrandMoveView | None":
    """The brand's move to another installation, if one has begun."""
    try:
        return await viewer.orchestrator.get_brand_move(brand)
    except RefusedError as error:
        if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN}:
            return None
        raise


async def _last_change(viewer: PageViewer, brand: str) -> "answers.AuditEntry | None":
    """Who changed the settings last, and when."""
    log = await viewer.orchestrator.list_audit_log(brand=brand, operation=_OPERATION, limit=1)
    return log["items"][0] if log["items"] else None


@router.post("/b/{brand}/settings")
async def save_settings(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Stores the settings, unless another person changed them since the form was shown."""
    viewer.check_may(Scope.OPERATE)
    typed, shown = views.typed_fields(form), views.typed_fields(form, "was-")

    async def act() -> Response:
        if typed == shown:
            return redirect(request, f"/b/{brand}/settings?done=nothing")
        about = await viewer.orchestrator.get_brand(brand, counters=False)
        wanted = views.changed_policy(about["policy"], typed)
        await viewer.orchestrator.set_brand(
            brand, name=wanted.pop("name"), extra=wanted, if_match=_tag(form.text("etag"))
        )
        parts_of(request).brand_names.forget(viewer.person.key_id)
        return redirect(request, f"/b/{brand}/settings?done=saved")

    refused = partial(_settings, request, brand, viewer, form=form)
    return await once_or_refused(request, viewer, form, act, refused)


def _tag(text: str) -> str:
    """A form without a tag that a header can have counts as one that is older than any change."""
    return text if re.fullmatch("[!-~]{1,200}", text) and text != "*" else _UNKNOWN_TAG


@router.post("/b/{brand}/settings/pause")
async def pause(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Pauses a brand: it begins nothing more until a person resumes it."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.orchestrator.pause_brand(brand, idempotency_key=form.once)
        path = f"/b/{brand}/settings"
        return await can_undo(request, viewer, f"{path}?done=paused", "brand.resume", [brand], back=path)

    return await once(request, viewer, form, act)


@router.post("/b/{brand}/settings/resume")
async def resume(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.orchestrator.resume_brand(brand, idempotency_key=form.once)
        return redirect(request, f"/b/{brand}/settings?done=resumed")

    return await once(request, viewer, form, act)


async def _undo_pause(viewer: PageViewer, thing: Sequence[Any]) -> None:
    await viewer.orchestrator.resume_brand(thing[0])


UNDO: Final[dict[str, UndoAct]] = {"brand.resume": _undo_pause}


@router.post("/b/{brand}/settings/export")
async def export(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Sends all data of a brand as a zip file, once the password was given lately: it has the subscribers' addresses.

    A file that has begun can say no more. So each service is asked before, and a service that is away is a page that says so.
    """
    viewer.check_may(Scope.OPERATE)
    if not viewer.is_confirmed:
        await confirm_password(request, viewer, form)
        # The browser shows the page that asked until it goes to another one, which a file is not.
        return redirect(request, f"/b/{brand}/settings?done=may_export")
    await viewer.orchestrator.get_brand(brand, counters=False)
    await viewer.research.get_sources(brand)
    await viewer.publisher.list_subscribers(brand, limit=1)
    await viewer.social.list_reach(brand, limit=1)
    try:
        pieces = begin_export(viewer.alone(), brand)
    except TooManyExportsError:
        raise HTTPException(
            HTTPStatus.TOO_MANY_REQUESTS, viewer.t("brand_settings.export.too_many")
        ) from None
    headers = {
        "Content-Disposition": f'attachment; filename="{brand}.zip"',
        # It is compressed already.
        "Content-Encoding": "identity",
    }
    return StreamingResponse(pieces, media_type="application/zip", headers=headers)


@router.get("/b/{brand}/settings/erase")
async def show_erasure(request: Request, brand: str, viewer: Viewer) -> Response:
    """Shows the data that an erasure removes, or the progress of one that has begun."""
    viewer.check_owner()
    return await _erasure(request, brand, viewer)


async def _erasure(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    typed: str = "",
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    about = await _if_known(viewer, brand)
    erasure = None if about else await viewer.orchestrator.get_brand_erasure(brand)
    return page(
        request,
        viewer,
        "brand_settings/erase.html.j2",
        status=status,
        brand=brand,
        about=about,
        notes=await notes.count_of_brand(request, brand),
        typed=typed,
        refusal=refusal,
        erasure=erasure,
        lines=views.erasure_lines(erasure) if erasure else (),
        elsewhere=views.elsewhere(erasure) if erasure else [],
        safe=safe_link,
    )


async def _if_known(viewer: PageViewer, brand: str) -> "answers.BrandDetails | None":
    try:
        return await viewer.orchestrator.get_brand(brand)
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


@router.post("/b/{brand}/settings/erase")
async def erase(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Erases the brand in every service and its notes here, once its name is typed and the password was given lately."""
    viewer.check_owner()
    await confirm_password(request, viewer, form)
    typed = form.text("confirm")

    async def act() -> Response:
        about = await _if_known(viewer, brand)
        if about is not None and not views.is_named(typed, name=about["name"], slug=brand):
            refusal, status = viewer.t("brand_settings.erase.other_name"), HTTPStatus.UNPROCESSABLE_ENTITY
            return await _erasure(request, brand, viewer, typed=typed, refusal=refusal, status=status)
        await viewer.orchestrator.erase_brand(brand, confirm=brand)
        await notes.erase_brand(request, brand)
        async with viewer.connections.connection() as connection:
            await saved_views.erase_brand(connection, brand)
            await brand_archives.erase_brand(connection, brand)
        await calendar_links.erase_brand(viewer, brand)
        parts_of(request).brand_names.forget(viewer.person.key_id)
        return redirect(request, f"/b/{brand}/settings/erase")

    return await once(request, viewer, form, act)
