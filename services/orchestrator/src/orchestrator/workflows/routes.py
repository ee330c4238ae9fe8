"""HTTP API of workflows: the state of articles in writing, retry and cancel."""

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from chassis.http.api import (
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayOperate,
    MayRead,
    conditional,
    refusal,
    router,
)
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import ProblemCode, RefusalError
from envelope.brand.payloads import BrandSlug
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.cycles import BrandLimits
from orchestrator.workflows import control, store
from orchestrator.workflows.control import UnknownWorkflowError, WorkflowStateError
from orchestrator.workflows.domain import WorkflowState
from orchestrator.workflows.models import (
    ControlledView,
    WorkflowList,
    WorkflowNoteView,
    WorkflowRetry,
    WorkflowView,
)

MAX_STEP: Final = 200
NOT_NOW: Final = refusal(
    HTTPStatus.CONFLICT, "The workflow's state does not allow this; `detail` says what is possible."
)
REFUSALS: Final[dict[type[Exception], ProblemCode]] = {
    UnknownWorkflowError: codes.UNKNOWN_WORKFLOW,
    WorkflowStateError: codes.WORKFLOW_NOT_READY,
}
"""Codes of errors about workflows."""


def workflow_routes(database: Database, limits: BrandLimits, stuck_after: timedelta) -> APIRouter:
    routes = router(tags=["workflows"])

    @routes.get("/workflows", summary="List workflows")
    async def list_workflows(
        caller: MayRead,
        brand: Annotated[BrandSlug | None, Query(description="Only workflows of this brand.")] = None,
        state: Annotated[WorkflowState | None, Query(description="Only workflows in this state.")] = None,
        after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> WorkflowList:
        """Lists the workflows of all articles in existing cycles, by start."""
        brands = None if caller.brands is None else sorted(caller.brands)
        if brand is not None:
            brands = [brand] if caller.may_see(brand) else []
        async with database.connection() as connection:
            found = await store.workflows(
                connection, brands=brands, state=state, after=after, limit=limit + 1, stuck_after=stuck_after
            )
        return WorkflowList(
            items=tuple(map(WorkflowNoteView.from_row, found[:limit])),
            next=found[limit - 1].content_id if len(found) > limit else None,
        )

    @routes.get(
        "/workflows/{content_id}", summary="Read the state of an article's writing", responses=UNKNOWN
    )
    async def get_workflow(caller: MayRead, content_id: UUID) -> WorkflowView:
        """Returns its steps with their times, their tokens, and the addresses of their results."""
        async with database.connection() as connection:
            workflow = await store.find_workflow(
                connection, content_id, _brands(caller), stuck_after=stuck_after
            )
            finished = await store.finished_steps(connection, workflow) if workflow else []
        if workflow is None:
            raise UnknownWorkflowError(content_id)
        return WorkflowView.of_workflow(workflow, finished)

    @routes.get(
        "/workflows/{content_id}/steps/{step}",
        summary="Read the result of a step",
        responses={**READ, **UNKNOWN},
    )
    async def get_workflow_result(
        caller: MayRead,
        content_id: UUID,
        step: Annotated[str, Path(max_length=MAX_STEP, pattern=r"^[\w:. -]+$")],
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Returns the stored JSON; its shape depends on the step and may change with any version."""
        async with database.connection() as connection:
            workflow = await store.find_workflow(
                connection, content_id, _brands(caller), stuck_after=stuck_after
            )
            result = await store.step_result(connection, workflow, step) if workflow else None
        if workflow is None:
            raise UnknownWorkflowError(content_id)
        if result is None:
            raise RefusalError(
                codes.UNKNOWN_STEP,
                f"there is no result of such a step; GET /v1/workflows/{content_id} lists those that there are",
            )
        return conditional(result, if_none_match)

    @routes.post(
        "/workflows/{content_id}/retry", summary="Write an article again", responses={**UNKNOWN, **NOT_NOW}
    )
    async def retry_workflow(caller: MayOperate, content_id: UUID, request: WorkflowRetry) -> ControlledView:
        """Retries an article that failed or is stuck, after its last stored result. An article under way is left alone."""
        done = await control.retry(database, content_id, caller, anew=request.anew, stuck_after=stuck_after)
        return ControlledView(changed=done.changed, workflow=WorkflowNoteView.from_row(done.workflow))

    @routes.post(
        "/workflows/{content_id}/cancel", summary="Cancel an article", responses={**UNKNOWN, **NOT_NOW}
    )
    async def cancel_workflow(caller: MayOperate, content_id: UUID) -> ControlledView:
        """Cancels an article that is not written yet, and its keyword. A running step ends, and nothing follows from it."""
        done = await control.cancel(database, content_id, caller, limits=limits, stuck_after=stuck_after)
        return ControlledView(changed=done.changed, workflow=WorkflowNoteView.from_row(done.workflow))

    return routes


def _brands(caller: Caller) -> list[str] | None:
    return None if caller.brands is None else sorted(caller.brands)
