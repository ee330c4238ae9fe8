"""Routes of proposals: what somebody proposes who may not decide, such as an assistant, is accepted or dismissed."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.callers import Scope
from console.drafts.showing import find_draft, refusals_shown
from console.drafts.views import is_id
from console.pages import FormData, Viewer, once, redirect


def add_proposals(routes: APIRouter) -> None:
    @routes.post("/proposals/{proposal_id}/{verb}")
    async def decide_proposal(
        request: Request,
        brand: str,
        content_id: str,
        proposal_id: str,
        verb: str,
        viewer: Viewer,
        form: FormData,
    ) -> Response:
        """Accepts a proposal, as if the person had made the edit or approved the version, or dismisses it."""
        viewer.check_may(Scope.REVIEW)
        await find_draft(viewer, brand, content_id)
        if not is_id(proposal_id) or verb not in {"accept", "dismiss"}:
            raise HTTPException(HTTPStatus.NOT_FOUND, viewer.t("drafts.unknown"))

        async def act() -> Response:
            if verb == "accept":
                await viewer.orchestrator.accept_proposal(content_id, proposal_id)
            else:
                await viewer.orchestrator.dismiss_proposal(
                    content_id, proposal_id, reason=form.text("reason")
                )
            done = f"done=proposal_{verb}&of={content_id}"
            return redirect(request, f"/b/{brand}/drafts/{content_id}?{done}#proposals")

        return await once(
            request, viewer, form, refusals_shown(request, brand, content_id, viewer, act, form)
        )
