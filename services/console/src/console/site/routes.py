"""Routes of the page about a brand's own site."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from markupsafe import escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from chassis.http.callers import Scope
from client import ClientError, RefusedError
from console.drafts.draft_page import PAGE_HEADERS
from console.list_filters import safe_link
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
from console.service_clients import is_away, sentence_of
from console.sign_in.confirming import confirm_password
from console.site import views

NAVIGATION: Final = (NavigationEntry("site", "/b/{brand}/site", 80),)
DONE: Final = ("saved", "nothing", "reset", "logo_set", "logo_removed", "indexnow_on", "indexnow_off")
"""What the page says was done, by the word in its address."""

MAX_LOGO_BYTES: Final = 1_000_000
"""As the publisher has it."""
_MOST_SETTINGS: Final = 20_000

router = APIRouter(include_in_schema=False)


@router.get("/b/{brand}/site")
async def show_site(request: Request, brand: str, viewer: Viewer) -> Response:
    """The settings of the site, and a page as it looks with them."""
    return await _show(request, brand, viewer)


async def _show(
    request: Request,
    brand: str,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    refusal: str = "",
    both: tuple[views.BothChanged, ...] = (),
    status: int = HTTPStatus.OK,
    export_address: str = "",
) -> Response:
    parts = await viewer.gather(
        settings=viewer.publisher.get_site_settings(brand),
        logo=_logo(viewer, brand),
        read=viewer.publisher.get_views(brand),
        indexnow=viewer.publisher.get_indexnow(brand),
    )
    settings, read = parts["settings"], parts["read"]
    stored = views.fields_of(settings) if settings else {}
    return page(
        request,
        viewer,
        "site/site.html.j2",
        status=status,
        **parts,
        brand=brand,
        done=done_word(request, DONE),
        refusal=refusal,
        both=both,
        fields=stored
        if form is None
        else views.joined_fields(form, stored)
        if both
        else views.typed_fields(form),
        # Who saves again has seen what the others did.
        shown=stored if form is None or both else views.shown_fields(form),
        preview=views.preview_path(brand, {} if form is None else views.changes_of(form)),
        unsaved=form is not None,
        views=views.views_of(read) if read else None,
        most=MAX_LOGO_BYTES,
        typefaces=views.TYPEFACES,
        widths=views.WIDTHS,
        safe=safe_link,
        export_address=export_address,
        may_operate=viewer.may(Scope.OPERATE),
    )


async def _logo(viewer: PageViewer, brand: str) -> Any:
    """The logo; an empty answer for a brand without one."""
    try:
        return await viewer.publisher.get_logo(brand)
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return {}
        raise


@router.post("/b/{brand}/site")
async def save_site(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Stores what a person changed, unless somebody else changed the same; pages show it within a minute."""
    viewer.check_may(Scope.OPERATE)
    stored = views.fields_of(await viewer.publisher.get_site_settings(brand))
    changes = views.changes_of(form, stored)

    async def act() -> Response:
        if changes:
            await viewer.publisher.update_site_settings(brand, extra=changes)
        return redirect(request, f"/b/{brand}/site?done={'saved' if changes else 'nothing'}")

    refused = partial(_show, request, brand, viewer, form=form)
    if wrong := _menu_refusal(viewer, form):
        return await refused(refusal=wrong, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    if both := views.both_changed(form, stored):
        return await refused(both=both, status=HTTPStatus.PRECONDITION_FAILED)
    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/site/preview")
async def preview_site(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Shows the site with what was typed, and saves nothing."""
    return await _show(request, brand, viewer, form=form, refusal=_menu_refusal(viewer, form))


def _menu_refusal(viewer: PageViewer, form: Form) -> str:
    line = views.incomplete_menu_line(form)
    return viewer.t("site.menu_incomplete", line=line) if line else ""


@router.get("/b/{brand}/site/look")
async def show_look(
    brand: str, viewer: Viewer, settings: Annotated[str, Query(max_length=_MOST_SETTINGS)] = ""
) -> Response:
    """The site's first page, for a frame."""
    status, document = HTTPStatus.OK, ""
    try:
        document = await viewer.publisher.get_site_page(brand, settings=settings or None)
    except RefusedError as error:
        status, document = HTTPStatus.UNPROCESSABLE_ENTITY, _plain(str(error))
    except ClientError:
        status, document = HTTPStatus.SERVICE_UNAVAILABLE, _plain(viewer.t("site.no_preview"))
    return HTMLResponse(document, status, headers=PAGE_HEADERS)


def _plain(text: str) -> str:
    return f"<!DOCTYPE html><title>…</title><p>{escape(text)}</p>"


@router.post("/b/{brand}/site/logo")
async def set_logo(request: Request, brand: str, viewer: Viewer) -> Response:
    """Takes a picture as the body, sent by the page's script, which shows the sentence of the answer."""
    viewer.check_may(Scope.OPERATE)
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MAX_LOGO_BYTES:
            return PlainTextResponse(viewer.t("site.logo_too_large"), HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if not views.is_picture(bytes(content[:12])):
        return PlainTextResponse(viewer.t("site.logo_no_picture"), HTTPStatus.UNPROCESSABLE_ENTITY)

    async def act() -> Response:
        await viewer.publisher.set_logo(brand, bytes(content))
        return PlainTextResponse(viewer.t("site.done.logo_set"))

    async def refused(refusal: str, status: int) -> Response:
        return PlainTextResponse(refusal, status)

    return await once_or_refused(
        request, viewer, Form([("once", request.query_params.get("once", ""))]), act, refused
    )


@router.post("/b/{brand}/site/export")
async def export_site(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Sends the whole site as a zip file, as the publisher makes it. Its first part is read before the answer begins."""
    viewer.check_may(Scope.OPERATE)
    async with AsyncExitStack() as stack:
        try:
            parts = await stack.enter_async_context(
                viewer.publisher_for_exports.export_site(brand, address=form.text("export_address") or None)
            )
            first = await anext(parts, b"")
        except RefusedError as error:
            if is_away(error):
                raise
            refusal = sentence_of(error, viewer.t)
            return await _show(
                request,
                brand,
                viewer,
                refusal=refusal,
                status=error.status,
                export_address=form.text("export_address"),
            )
        opened = stack.pop_all()
    headers = {
        "Content-Disposition": f'attachment; filename="{brand}-site.zip"',
        # It is compressed already.
        "Content-Encoding": "identity",
    }
    return StreamingResponse(_rest(opened, first, parts), media_type="application/zip", headers=headers)


async def _rest(opened: AsyncExitStack, first: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async with opened:
        yield first
        async for part in parts:
            yield part


@router.post("/b/{brand}/site/indexnow/{verb}")
async def set_indexnow(
    request: Request, brand: str, verb: Literal["on", "off"], viewer: Viewer, form: FormData
) -> Response:
    """Has search engines told of changed pages, or not. Turned on again, the site has another key."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        if verb == "on":
            await viewer.publisher.enable_indexnow(brand)
        else:
            await viewer.publisher.disable_indexnow(brand)
        return redirect(request, f"/b/{brand}/site?done=indexnow_{verb}#indexnow")

    return await once_or_refused(request, viewer, form, act, partial(_show, request, brand, viewer))


@router.post("/b/{brand}/site/reset")
async def reset_site(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Restores all defaults; the site's own address stops working."""
    viewer.check_may(Scope.OPERATE)
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        await viewer.publisher.reset_site_settings(brand)
        return redirect(request, f"/b/{brand}/site?done=reset")

    return await once(request, viewer, form, act)


@router.post("/b/{brand}/site/logo/remove")
async def remove_logo(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Removes the logo from pages and covers."""
    viewer.check_may(Scope.OPERATE)
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        await viewer.publisher.delete_logo(brand)
        return redirect(request, f"/b/{brand}/site?done=logo_removed")

    return await once(request, viewer, form, act)
