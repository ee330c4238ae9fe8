"""Routes of the pages about a brand's incoming webhooks: list, add, change, renew the secret, what arrived."""

from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from client import RefusedError
from console.hooks import views
from console.hooks.views import HookFields
from console.pages import (
    FormData,
    PageViewer,
    Viewer,
    done_word,
    once,
    once_or_refused,
    once_shown,
    page,
    redirect,
)

DONE: Final = ("saved", "removed", "shown")
"""What the page says was done, by the word in its address."""
router = APIRouter(include_in_schema=False)


def _list_path(brand: str) -> str:
    return f"/b/{brand}/hooks"


def _path(brand: str, name: str) -> str:
    return f"/b/{brand}/hooks/named/{name}"


@router.get("/b/{brand}/hooks")
async def list_hooks(request: Request, brand: str, viewer: Viewer) -> Response:
    viewer.check_may(Scope.OPERATE)
    parts = await viewer.gather(found=viewer.events.list_hooks(brand))
    return page(request, viewer, "hooks/list.html.j2", **parts, done=done_word(request, DONE))


@router.get("/b/{brand}/hooks/new")
async def show_new(request: Request, brand: str, viewer: Viewer) -> Response:
    viewer.check_may(Scope.OPERATE)
    return _new(request, brand, viewer, HookFields())


def _new(
    request: Request,
    brand: str,
    viewer: PageViewer,
    fields: HookFields,
    *,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    return page(
        request,
        viewer,
        "hooks/new.html.j2",
        status=status,
        fields=fields,
        refusal=refusal,
        back=_list_path(brand),
        **_choices(),
    )


def _choices() -> dict[str, Any]:
    return {"kinds": views.KINDS, "commands": views.COMMANDS, "priorities": views.PRIORITIES}


@router.post("/b/{brand}/hooks/new")
async def add_hook(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Makes a hook and shows its secret in this answer alone; one that exists is not overwritten."""
    viewer.check_may(Scope.OPERATE)
    fields = views.typed_fields(form)

    async def refused(*, refusal: str, status: int) -> Response:
        return _new(request, brand, viewer, fields, refusal=refusal, status=status)

    async def act() -> Response:
        if await _is_known(viewer, brand, fields.name):
            refusal = viewer.t("hooks.exists", name=fields.name)
            return await refused(refusal=refusal, status=HTTPStatus.CONFLICT)
        command: Any = views.wanted_command(fields)
        kind: Any = fields.kind
        made = await viewer.events.set_hook(brand, fields.name, kind=kind, command=command)
        return await _hook(request, brand, fields.name, viewer, secret=made["secret"])

    return await once_shown(request, viewer, form, act, f"{_list_path(brand)}?done=shown", refused)


async def _is_known(viewer: PageViewer, brand: str, name: str) -> bool:
    try:
        await viewer.events.get_hook(brand, name)
    except RefusedError as error:
        # A malformed name is refused when the hook is stored.
        if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}:
            return False
        raise
    return True


@router.get("/b/{brand}/hooks/named/{name}")
async def show_hook(request: Request, brand: str, name: str, viewer: Viewer) -> Response:
    """A hook with its definition and the last hundred requests."""
    viewer.check_may(Scope.OPERATE)
    return await _hook(request, brand, name, viewer)


async def _hook(
    request: Request,
    brand: str,
    name: str,
    viewer: PageViewer,
    *,
    fields: HookFields | None = None,
    secret: str | None = None,
    refusal: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    parts = await viewer.gather(
        hook=viewer.events.get_hook(brand, name), arrivals=viewer.events.list_hook_arrivals(brand, name)
    )
    hook = parts["hook"]
    return page(
        request,
        viewer,
        "hooks/hook.html.j2",
        status=status,
        **parts,
        **_choices(),
        name=name,
        fields=fields or (views.fields_of(hook) if hook else HookFields(name=name)),
        has_lines=hook is None or views.keyword_lines(hook["command"]["data"]) is not None,
        secret=secret,
        refusal=refusal,
        tones=views.STATE_TONES,
        done=done_word(request, DONE),
    )


@router.post("/b/{brand}/hooks/named/{name}")
async def change_hook(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Stores the definition, unless another person changed it since the form was shown."""
    viewer.check_may(Scope.OPERATE)
    fields = views.typed_fields(form)

    async def act() -> Response:
        # One that was removed meanwhile is not made again.
        hook = await viewer.events.get_hook(brand, name)
        now = views.version_of(hook)
        if fields.version != now:
            return await _hook(
                request,
                brand,
                name,
                viewer,
                fields=replace(fields, version=now),
                refusal=viewer.t("layout.error.overtaken"),
                status=HTTPStatus.CONFLICT,
            )
        command: Any = views.wanted_command(fields, hook["command"])
        await viewer.events.set_hook(brand, name, kind=hook["kind"], command=command)
        return redirect(request, f"{_path(brand, name)}?done=saved")

    refused = partial(_hook, request, brand, name, viewer, fields=fields)
    return await once_or_refused(request, viewer, form, act, refused)


@router.post("/b/{brand}/hooks/named/{name}/rotate")
async def rotate_hook(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    """Renews the secret and shows it in this answer alone."""
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        made = await viewer.events.rotate_hook(brand, name)
        return await _hook(request, brand, name, viewer, secret=made["secret"])

    refused = partial(_hook, request, brand, name, viewer)
    return await once_shown(request, viewer, form, act, f"{_path(brand, name)}?done=shown", refused)


@router.post("/b/{brand}/hooks/named/{name}/remove")
async def remove_hook(request: Request, brand: str, name: str, viewer: Viewer, form: FormData) -> Response:
    viewer.check_may(Scope.OPERATE)

    async def act() -> Response:
        await viewer.events.delete_hook(brand, name)
        return redirect(request, f"{_list_path(brand)}?done=removed")

    return await once(request, viewer, form, act)
