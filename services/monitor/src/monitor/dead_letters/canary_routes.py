"""Routes of canary replays: begin one, look at it, stop it."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from chassis.http.api import UNKNOWN, MayOperate, MayRead, View, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import RefusalError
from monitor import problem_codes as codes
from monitor.dead_letters.api_models import ReplayRequest, StopRequest, StoredText, named
from monitor.dead_letters.canary import CanaryReplay, CanaryReplays, CanaryState
from monitor.dead_letters.routes import CONFLICT


class CanaryRequest(ReplayRequest):
    group: StoredText = Field(description="The failure group: `group` of the summary.")


class CanaryReplayView(View):
    """A replay of a failure group: of one, then of ten, then of the rest. All times are UTC."""

    id: UUID
    group: str
    state: CanaryState
    total: int = Field(description="How many were open and replayable when it began.")
    step: int = Field(description="How many steps have begun: 1, 2 or 3; 0 for a moment.")
    replayed: int
    waiting: int = Field(description="Replays without a known outcome.")
    started_at: datetime
    reason: str | None
    by: str | None
    ended_at: datetime | None
    came_back: UUID | None = Field(
        description="The dead letter of the first replay that failed in the same way; it ended the canary replay."
    )
    stopped_by: str | None

    @classmethod
    def of(cls, canary: CanaryReplay) -> Self:
        return cls(
            id=canary.id,
            group=canary.failure_group,
            state=canary.state,
            total=canary.total,
            step=canary.step,
            replayed=canary.replayed,
            waiting=canary.waiting,
            started_at=canary.started_at,
            reason=canary.reason,
            by=canary.operator,
            ended_at=canary.ended_at,
            came_back=canary.came_back,
            stopped_by=canary.stopped_by,
        )


class CanaryReplayPage(View):
    items: list[CanaryReplayView]
    next: UUID | None = Field(description="Send it as `after` to get the next page; null on the last one.")


def canary_routes(canaries: CanaryReplays) -> APIRouter:
    routes = router("/canary-replays", tags=["dead-letters"])

    @routes.post("", status_code=202, summary="Replay a failure group in steps", responses=CONFLICT)
    async def begin_canary_replay(caller: MayOperate, request: CanaryRequest) -> CanaryReplayView:
        """Replays one, then ten, then the rest of the group; each step waits until those before are handled.

        It stops at the first that fails in the same way again. If one of the group runs already, the answer is that one.
        """
        canary = await canaries.begin(request.group, request.decision(request.reason, caller), caller.brands)
        if canary is None:
            raise RefusalError(
                codes.DEAD_LETTER_NOT_READY,
                f"group {request.group} has no open dead letter that can be replayed",
            )
        if not canary.is_visible(caller.brands):
            raise RefusalError(
                codes.DEAD_LETTER_NOT_READY,
                f"another person replays group {request.group} now: wait until it has ended",
            )
        return CanaryReplayView.of(canary)

    @routes.get("", summary="Canary replays, newest first")
    async def list_canary_replays(
        caller: MayRead,
        group: Annotated[StoredText | None, Query(description="Only those of this failure group.")] = None,
        after: Annotated[UUID | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> CanaryReplayPage:
        found = await canaries.page(group=group, brands=caller.brands, after=after, limit=limit + 1)
        items = [CanaryReplayView.of(each) for each in found[:limit]]
        return CanaryReplayPage(items=items, next=items[-1].id if len(found) > limit else None)

    @routes.get("/{canary_id}", summary="One canary replay", responses=UNKNOWN)
    async def get_canary_replay(caller: MayRead, canary_id: UUID) -> CanaryReplayView:
        return CanaryReplayView.of(await _find(canaries, canary_id, caller))

    @routes.post("/{canary_id}/stop", summary="Stop a canary replay", responses=UNKNOWN)
    async def stop_canary_replay(
        caller: MayOperate, canary_id: UUID, request: StopRequest | None = None
    ) -> CanaryReplayView:
        """Begins no further step; replays that are on their way stay so. One that has ended stays as it is."""
        await _find(canaries, canary_id, caller)
        await canaries.stop(canary_id, named(request.by if request else None, caller))
        return CanaryReplayView.of(await _find(canaries, canary_id, caller))

    return routes


async def _find(canaries: CanaryReplays, canary_id: UUID, caller: Caller) -> CanaryReplay:
    found = await canaries.find(canary_id)
    if found is None or not found.is_visible(caller.brands):
        raise RefusalError(
            codes.UNKNOWN_CANARY_REPLAY,
            f"there is no canary replay {canary_id}; GET /v1/canary-replays lists them",
        )
    return found
