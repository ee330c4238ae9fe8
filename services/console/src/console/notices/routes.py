"""`/undo/{notice}`: takes back what a notice says was done."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from console.acting_on_each import act_on_each
from console.notices import store
from console.notices.store import Notice, told
from console.pages import FormData, Viewer, once
from console.pages.parts import parts_of

router = APIRouter(include_in_schema=False)


@router.post("/undo/{notice}")
async def undo(request: Request, notice: str, viewer: Viewer, form: FormData) -> Response:
    """Undoes each thing that the notice names, and reports those that can no longer be undone."""

    async def act() -> Response:
        found = await store.take(request, viewer, notice)
        wanted = found.undo if found else None
        if found is None or wanted is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("notices.gone"))
        take_back = parts_of(request).undo[wanted.kind]
        outcome = await act_on_each(wanted.things, lambda thing: take_back(viewer, thing), viewer.t)
        refused = [(str(thing[0]), "", why) for thing, why in outcome.refused]
        back = found.back
        return await told(
            request, viewer, back, Notice("notices.undone", {"n": len(outcome.done)}, refused=refused)
        )

    return await once(request, viewer, form, act)
