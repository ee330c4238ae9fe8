"""Routes of operations on all dead letters that match: begin one, look at it, stop it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from chassis.http.api import UNKNOWN, MayOperate, MayRead, View, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import INVALID_CURSOR, RefusalError
from monitor import problem_codes as codes
from monitor.dead_letters.api_models import OperationRequest, StopRequest, named
from monitor.dead_letters.domain import OperationVerb
from monitor.dead_letters.mass_operations import MassOperation, MassOperations, OperationState
from monitor.dead_letters.routes import refusing_slow_searches


class DeadLetterOperationView(View):
    """A decision about all dead letters that matched when it was made. All times are UTC."""

    id: UUID
    verb: OperationVerb
    selection: Mapping[str, Any] = Field(description="The filter, as in the request.")
    until: datetime = Field(description="Later dead letters are left alone.")
    state: OperationState
    total: int = Field(description="How many matched when it began.")
    decided: int = Field(description="How many were decided about so far.")
    handled: int = Field(description="Replays that their consumers have handled.")
    came_back: int = Field(description="Replays that failed again; they are dead letters of their own.")
    waiting: int = Field(description="Replays without a known outcome.")
    started_at: datetime
    ended_at: datetime | None
    reason: str | None
    by: str | None
    stopped_by: str | None
    problem: str | None = Field(description="Why it failed.")

    @classmethod
    def of(cls, operation: MassOperation) -> Self:
        return cls(
            by=operation.operator,
            **{name: getattr(operation, name) for name in cls.model_fields if name != "by"},
        )


class DeadLetterOperationPage(View):
    items: list[DeadLetterOperationView]
    next: UUID | None = Field(description="Send it as `after` to get the next page; null on the last one.")


def mass_operation_routes(operations: MassOperations) -> APIRouter:
    routes = router("/dead-letter-operations", tags=["dead-letters"])

    async def find(caller: Caller, operation_id: UUID) -> MassOperation:
        found = await operations.find(operation_id)
        if found is None or not found.is_visible(caller.brands):
            raise RefusalError(
                codes.UNKNOWN_DEAD_LETTER_OPERATION,
                f"there is no operation {operation_id}; GET /v1/dead-letter-operations lists them",
            )
        return found

    @routes.post("", status_code=202, summary="Replay, discard or restore all dead letters that match")
    async def begin_dead_letter_operation(
        caller: MayOperate, request: OperationRequest
    ) -> DeadLetterOperationView:
        """Decides about all that match now, 500 in a step, also after a restart of the service; later ones are left alone.

        The answer comes after the first step.
        """
        with refusing_slow_searches():
            begun = await operations.begin(
                request.verb, request, request.decision(request.reason, caller), caller.brands
            )
        return DeadLetterOperationView.of(begun)

    @routes.get("", summary="Operations, newest first")
    async def list_dead_letter_operations(
        caller: MayRead,
        after: Annotated[UUID | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> DeadLetterOperationPage:
        """Returns operations that run, and ended ones with what became of their replays."""
        if after is not None:
            last = await operations.find(after)
            if last is None or not last.is_visible(caller.brands):
                raise RefusalError(
                    INVALID_CURSOR, f"after: there is no operation {after}; request the first page"
                )
        found = await operations.page(brands=caller.brands, after=after, limit=limit + 1)
        items = [DeadLetterOperationView.of(each) for each in found[:limit]]
        return DeadLetterOperationPage(items=items, next=items[-1].id if len(found) > limit else None)

    @routes.get("/{operation_id}", summary="One operation", responses=UNKNOWN)
    async def get_dead_letter_operation(caller: MayRead, operation_id: UUID) -> DeadLetterOperationView:
        return DeadLetterOperationView.of(await find(caller, operation_id))

    @routes.post("/{operation_id}/stop", summary="Stop an operation", responses=UNKNOWN)
    async def stop_dead_letter_operation(
        caller: MayOperate, operation_id: UUID, request: StopRequest | None = None
    ) -> DeadLetterOperationView:
        """Leaves the rest as it is; replays that are on their way stay so. One that has ended stays as it ended."""
        await find(caller, operation_id)
        await operations.stop(operation_id, named((request or StopRequest()).by, caller))
        return DeadLetterOperationView.of(await find(caller, operation_id))

    return routes
