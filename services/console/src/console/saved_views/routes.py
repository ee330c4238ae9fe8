"""`/b/{brand}/views`: keeps, renames and removes a person's views of lists."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from console.notices import Notice, Undo, UndoAct, told
from console.pages import Form, FormData, PageViewer, Viewer, once
from console.saved_views import store

router = APIRouter(include_in_schema=False)


def _screen(form: Form) -> str:
    screen = form.text("screen")
    if screen not in store.SCREENS:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY)
    return screen


def _name(form: Form) -> str:
    return " ".join(form.text("name").split())[: store.MAX_NAME]


def _back(form: Form, brand: str) -> str:
    """The list as it was shown."""
    return f"/b/{brand}/{_screen(form)}{store.kept_query(form.text('query'))}".removesuffix("?")


@router.post("/b/{brand}/views")
async def save_view(request: Request, brand: str, viewer: Viewer, form: FormData) -> Response:
    """Keeps the filter of a list under a name."""
    screen, name, back = _screen(form), _name(form), _back(form, brand)

    async def act() -> Response:
        if not name:
            return await told(request, viewer, back, Notice("saved_views.no_name"))
        kept = await store.save(viewer, brand, screen, name, form.text("query"))
        key = "saved_views.saved" if kept else "saved_views.full"
        return await told(request, viewer, back, Notice(key, {"name": name, "n": store.MOST}))

    return await once(request, viewer, form, act)


@router.post("/b/{brand}/views/{view}/rename")
async def rename_view(request: Request, brand: str, view: UUID, viewer: Viewer, form: FormData) -> Response:
    name, back = _name(form), _back(form, brand)

    async def act() -> Response:
        if not name:
            return await told(request, viewer, back, Notice("saved_views.no_name"))
        try:
            await store.rename(viewer, brand, view, name)
        except store.NameTakenError:
            return await told(request, viewer, back, Notice("saved_views.taken", {"name": name}))
        return await told(request, viewer, back, Notice("saved_views.renamed", {"name": name}))

    return await once(request, viewer, form, act)


@router.post("/b/{brand}/views/{view}/remove")
async def remove_view(request: Request, brand: str, view: UUID, viewer: Viewer, form: FormData) -> Response:
    back = _back(form, brand)

    async def act() -> Response:
        removed = await store.remove(viewer, brand, view)
        if removed is None:
            return await told(request, viewer, back, Notice("saved_views.gone"))
        screen, name, query = removed
        undo = Undo("saved_views.save", [[name, brand, screen, query]])
        return await told(request, viewer, back, Notice("saved_views.removed", {"name": name}, undo=undo))

    return await once(request, viewer, form, act)


async def _undo_removal(viewer: PageViewer, thing: Sequence[Any]) -> None:
    name, brand, screen, query = thing
    await store.save(viewer, brand, screen, name, query)


UNDO: Final[dict[str, UndoAct]] = {"saved_views.save": _undo_removal}
