"""HTTP routes of moves: begin one, note its steps, see it, cancel it. `client.brand_move` carries it out."""

from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

import structlog
from fastapi import APIRouter

from chassis import Connection
from chassis.http.api import UNKNOWN, MayAdminister, add_routes, needs, refusal, router
from chassis.http.callers import Caller, Scope
from chassis.http.problem_codes import RefusalError
from envelope import new_event_id
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.brand_moves import store
from orchestrator.brand_moves.models import BrandMoveView, MoveBody, MoveStepBody
from orchestrator.brand_moves.store import STEPS, BrandMove
from orchestrator.brands import Slug, UnknownBrandError, seen_slug

log = structlog.get_logger(__name__)

_Mover = Annotated[Caller, needs(Scope.ADMIN, of_all_brands=True)]
_NOT_NOW: Final = refusal(
    HTTPStatus.CONFLICT, "The brand moves elsewhere, is being imported, or is past that step."
)


def move_routes(database: Database) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, _beginning(database), _continuing(database))
    return routes


def _beginning(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/move", tags=["brands"])

    @routes.put(
        "", summary="Begin to move a brand to another installation", responses={**UNKNOWN, **_NOT_NOW}
    )
    async def begin_brand_move(caller: _Mover, slug: Slug, request: MoveBody) -> BrandMoveView:
        """Pauses the brand: what runs ends, and nothing begins. The same request again changes nothing."""
        brand = seen_slug(slug, caller)
        async with database.transaction() as tx:
            if not await store.lock_brand(tx.connection, brand):
                raise UnknownBrandError(slug)
            move = await store.find_move(tx.connection, brand)
            if move is None:
                if await store.is_import_open(tx.connection, brand):
                    raise RefusalError(
                        codes.BRAND_MOVES, f"'{slug}' is being imported here: finish that import first"
                    )
                move = await store.begin_move(
                    tx.connection, brand, new_event_id(), request.to, by=caller.name
                )
                log.warning("brand_move_begun", brand=slug, move_id=str(move.move_id), to=request.to)
            elif move.moved_to != request.to:
                raise RefusalError(
                    codes.BRAND_MOVES,
                    f"'{slug}' moves to {move.moved_to} already: continue that, or give it up before another move",
                )
            return await _view(tx.connection, move)

    @routes.get("", summary="How far the move of a brand is", responses=UNKNOWN)
    async def get_brand_move(caller: MayAdminister, slug: Slug) -> BrandMoveView:
        """The move with its step, and what still runs."""
        brand = seen_slug(slug, caller)
        async with database.connection() as connection:
            return await _view(connection, _known(slug, await store.find_move(connection, brand)))

    return routes


def _continuing(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/move", tags=["brands"])

    @routes.patch("", summary="Note a step of a move", responses={**UNKNOWN, **_NOT_NOW})
    async def set_move_step(caller: _Mover, slug: Slug, request: MoveStepBody) -> BrandMoveView:
        """Notes the next step. A step that was noted before changes nothing, and neither does `frozen` while something runs."""
        brand = seen_slug(slug, caller)
        async with database.transaction() as tx:
            # Everybody who changes the brand holds its row: nothing begins between the count and the step.
            await store.lock_brand(tx.connection, brand)
            move = _same(slug, await store.find_move(tx.connection, brand), request.move_id)
            before, wanted = STEPS.index(move.step), STEPS.index(request.step)
            if wanted <= before:
                return await _view(tx.connection, move)
            if wanted > before + 1:
                raise RefusalError(
                    codes.MOVE_STEP_TOO_EARLY,
                    f"the move of '{slug}' is {move.step}: {STEPS[before + 1]} comes before {request.step}",
                )
            if request.step == "frozen" and (runs := await store.under_way(tx.connection, brand)):
                return BrandMoveView.of(move, runs)
            move = await store.set_step(tx.connection, brand, request.step)
            log.warning("brand_move_step", brand=slug, move_id=str(move.move_id), step=move.step)
            return await _view(tx.connection, move)

    @routes.delete(
        "",
        summary="Give up the move of a brand",
        status_code=HTTPStatus.NO_CONTENT,
        responses={**UNKNOWN, **_NOT_NOW},
    )
    async def cancel_brand_move(caller: _Mover, slug: Slug) -> None:
        """The brand goes on here, unless it was paused before. No error without a move; refused once accounts change over."""
        brand = seen_slug(slug, caller)
        async with database.transaction() as tx:
            await store.lock_brand(tx.connection, brand)
            move = await store.find_move(tx.connection, brand)
            if move is None:
                return
            if STEPS.index(move.step) >= STEPS.index("handing_over"):
                raise RefusalError(
                    codes.MOVE_TOO_FAR,
                    f"'{slug}' cannot stay here: {move.moved_to} has its accounts, or is about to. Repeat the move to end it",
                )
            await store.cancel_move(tx.connection, move)
        log.warning("brand_move_cancelled", brand=slug, move_id=str(move.move_id))

    return routes


def _known(slug: str, move: BrandMove | None) -> BrandMove:
    if move is None:
        raise RefusalError(codes.UNKNOWN_MOVE, f"'{slug}' moves nowhere")
    return move


def _same(slug: str, move: BrandMove | None, move_id: UUID) -> BrandMove:
    known = _known(slug, move)
    if known.move_id != move_id:
        raise RefusalError(codes.BRAND_MOVES, f"'{slug}' has begun another move since: look at that one")
    return known


async def _view(connection: Connection, move: BrandMove) -> BrandMoveView:
    runs = await store.under_way(connection, move.brand_slug) if move.step == "draining" else {}
    return BrandMoveView.of(move, runs)
