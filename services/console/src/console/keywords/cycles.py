"""Pauses, resumes and cancels the keywords that were submitted together: a cycle."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.notices import Notice, Undo, UndoAct, told
from console.pages import FormData, PageViewer, Viewer, once

_SHOWN: Final = 10
STATES: Final = ("running", "paused")
"""In which a cycle can be paused, resumed or cancelled."""
_UNDONE_BY: Final = {"pause": "keywords.resume_cycle", "resume": "keywords.pause_cycle"}
router = APIRouter(include_in_schema=False)


def newest(clients: Any, brand: str) -> Any:
    """What asks the orchestrator for the newest cycles in one of the STATES."""
    return clients.orchestrator.list_cycles(brand=brand, state=STATES, limit=_SHOWN)


@router.post("/b/{brand}/keywords/cycles/{cycle_id}/{verb}")
async def change_cycle(
    request: Request, brand: str, cycle_id: UUID, verb: str, viewer: Viewer, form: FormData
) -> Response:
    """Pauses, resumes or cancels what waits for its turn; articles that are being written are finished."""
    viewer.check_may(Scope.OPERATE)
    acts = {
        "pause": viewer.orchestrator.pause_cycle,
        "resume": viewer.orchestrator.resume_cycle,
        "cancel": viewer.orchestrator.cancel_cycle,
    }
    if verb not in acts:
        raise HTTPException(HTTPStatus.NOT_FOUND)

    async def act() -> Response:
        if (await viewer.orchestrator.get_cycle(cycle_id))["brand_slug"] != brand:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        await acts[verb](cycle_id, idempotency_key=form.once or None)
        undo = Undo(_UNDONE_BY[verb], [[str(cycle_id)]]) if verb in _UNDONE_BY else None
        notice = Notice(f"keywords.cycle_done.{verb}", undo=undo)
        return await told(request, viewer, f"/b/{brand}/keywords", notice)

    return await once(request, viewer, form, act)


async def _pause(viewer: PageViewer, thing: Sequence[Any]) -> None:
    await viewer.orchestrator.pause_cycle(thing[0])


async def _resume(viewer: PageViewer, thing: Sequence[Any]) -> None:
    await viewer.orchestrator.resume_cycle(thing[0])


UNDO: Final[dict[str, UndoAct]] = {"keywords.pause_cycle": _pause, "keywords.resume_cycle": _resume}
