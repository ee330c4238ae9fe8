"""What follows a decision about a draft: the next one, with an Undo where there is one."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from console.drafts.views import is_id
from console.notices import Undo, UndoAct, can_undo
from console.pages import PageViewer, redirect


async def decided(request: Request, viewer: PageViewer, draft: Any, verb: str, following: str) -> Response:
    """Leads to the draft that follows, or to the list, which say what was decided."""
    back = f"/b/{draft['brand_slug']}/drafts"
    back = f"{back}/{following}" if is_id(following) else back
    path = f"{back}?done={verb}&of={draft['content_id']}"
    undo = _undo_of(verb, draft)
    if undo is None:
        return redirect(request, path)
    return await can_undo(request, viewer, path, undo.kind, *undo.things, back=back)


def _undo_of(verb: str, draft: Any) -> Undo | None:
    """What takes a decision about a draft back; None if nothing does."""
    had = draft["scheduled"]
    if had and verb in {"schedule", "unschedule"}:
        return Undo("drafts.plan", [[draft["content_id"], had["version"], had["publish_at"]]])
    return Undo("drafts.unschedule", [[draft["content_id"]]]) if verb == "schedule" else None


async def _undo_unscheduling(viewer: PageViewer, thing: Sequence[Any]) -> None:
    content_id, version, at = thing
    await viewer.orchestrator.approve_draft(content_id, version=version, publish_at=at)


async def _undo_scheduling(viewer: PageViewer, thing: Sequence[Any]) -> None:
    await viewer.orchestrator.unschedule_draft(thing[0])


UNDO: Final[dict[str, UndoAct]] = {
    "drafts.plan": _undo_unscheduling,
    "drafts.unschedule": _undo_scheduling,
}
