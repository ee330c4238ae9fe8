"""`/providers`: the search engines and models that the gateway pays, and their keys."""

from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.api import add_routes
from chassis.http.callers import Scope
from client.connections import UNSET
from console.pages import (
    Form,
    FormData,
    NavigationEntry,
    PageViewer,
    Viewer,
    done_word,
    once_or_refused,
    page,
    redirect,
)
from console.providers import exams, views
from console.service_clients import sentence_by_code
from console.sign_in.confirming import confirm_password

NAVIGATION: Final = (NavigationEntry("providers", "/providers", order=6, scope=Scope.OPERATE),)
DONE: Final = ("connected", "removed")
"""What the page says was done, by the word in its address."""
SECRET: Final = "provider_password"  # noqa: S105  (a name)
"""The field of the key: by this name no page keeps it for a person who has to sign in again."""
LIVE: Final = exams.LIVE
router = APIRouter(include_in_schema=False)
add_routes(router, exams.router)


@router.get("/providers")
async def show_providers(request: Request, viewer: Viewer) -> Response:
    """Shows the connected providers, and the form that connects one."""
    return await _show(request, viewer)


async def _show(
    request: Request,
    viewer: PageViewer,
    *,
    form: Form | None = None,
    refusal: str = "",
    tried: tuple[str, Any] | None = None,
    status: int = HTTPStatus.OK,
) -> Response:
    viewer.check_may(Scope.OPERATE)
    is_bound = viewer.person.brands is not None
    parts = {} if is_bound else await viewer.gather(providers=viewer.gateway.list_providers())
    found = parts.get("providers")
    kind = form.text("kind") if form else request.query_params.get("kind", "")
    return page(
        request,
        viewer,
        "providers/providers.html.j2",
        status=status,
        providers=found,
        lines=[views.provider_line(each) for each in found["items"]] if found else [],
        bound=is_bound,
        kinds=views.KINDS,
        kind=kind if kind in views.KINDS else "",
        fields=views.fields_of(kind) if kind in views.KINDS else (),
        typed=form,
        refusal=refusal,
        tried=tried,
        done=done_word(request, DONE),
        secret=SECRET,
        may_administer=viewer.may(Scope.ADMIN),
    )


@router.post("/providers/connect")
async def connect(request: Request, viewer: Viewer, form: FormData) -> Response:
    """Stores a provider with its key, which no page shows again; an empty key leaves the present one."""
    viewer.check_may(Scope.ADMIN)
    kind = form.text("kind")
    if kind not in views.KINDS:
        return redirect(request, "/providers")
    await confirm_password(request, viewer, form)
    name, key = form.text("name") or kind, form.raw(SECRET).strip() or None

    async def act() -> Response:
        settings = views.settings_of(kind, form.text)
        await viewer.gateway.connect_provider(
            name,
            kind=kind,  # type: ignore[arg-type]  # of KINDS
            settings=settings,
            key=UNSET if key is None else key,
        )
        return redirect(request, "/providers?done=connected")

    refused = partial(_show, request, viewer, form=form)
    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/providers/{name}/check")
async def check(request: Request, name: str, viewer: Viewer, form: FormData) -> Response:
    """Tries it by a small request, which a brand pays, and shows what came."""
    viewer.check_may(Scope.ADMIN)

    async def act() -> Response:
        found = await viewer.gateway.check_provider(
            name, brand=form.text("brand"), idempotency_key=form.once or None
        )
        told = sentence_by_code(found["problem"], found["detail"], viewer.t)
        return await _show(request, viewer, tried=(name, {**found, "detail": told}))

    refused = partial(_show, request, viewer)
    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/providers/{name}/remove")
async def remove(request: Request, name: str, viewer: Viewer, form: FormData) -> Response:
    """Forgets a provider and its key."""
    viewer.check_may(Scope.ADMIN)
    await confirm_password(request, viewer, form)

    async def act() -> Response:
        await viewer.gateway.disconnect_provider(name)
        return redirect(request, "/providers?done=removed")

    refused = partial(_show, request, viewer)
    return await once_or_refused(request, viewer, form, act, refused)
