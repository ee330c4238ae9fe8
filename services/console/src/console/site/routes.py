"""Routes of the page about a brand's own site."""

from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
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
from console.sign_in.confirming import confirm_password
from console.site import views

NAVIGATION: Final = (NavigationEntry("site", "/b/{brand}/site", 80),)
DONE: Final = ("saved", "nothing", "reset", "logo_removed")
"""What the page says was done, by the word in its address."""

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
    status: int = HTTPStatus.OK,
) -> Response:
    parts = await viewer.gather(
        settings=viewer.publisher.get_site_settings(brand),
        logo=_logo(viewer, brand),
        drafts=viewer.orchestrator.list_drafts(brand=brand, limit=1),
    )
    settings, drafts = parts["settings"], parts["drafts"]
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
        fields=stored if form is None else views.typed_fields(form),
        shown=stored if form is None else views.shown_fields(form),
        preview=views.preview_path(brand, drafts["items"]) if drafts else None,
        typefaces=views.TYPEFACES,
        widths=views.WIDTHS,
        safe=safe_link,
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
    """Stores what a person changed; pages show it within a minute."""
    viewer.check_may(Scope.OPERATE)
    changes = views.changes_of(form)

    async def act() -> Response:
        if changes:
            await viewer.publisher.update_site_settings(brand, extra=changes)
        return redirect(request, f"/b/{brand}/site?done={'saved' if changes else 'nothing'}")

    async def refused(refusal: str, status: int) -> Response:
        return await _show(request, brand, viewer, form=form, refusal=refusal, status=status)

    return await once_or_refused(request, viewer, form, act, refused)


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
