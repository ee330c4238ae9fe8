"""HTTP routes of placements: list them, update one target."""

from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path

from chassis import Connection
from chassis.http.api import UNKNOWN, MayRead, MayReview, refusal, router
from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from envelope.brand.settings import NAME_PATTERN
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.moving import hold_unmoved
from orchestrator.placements import commands, store
from orchestrator.placements.models import PlacementBody, PlacementList, PlacementView
from orchestrator.placements.store import ArticlePlacements

NOT_NOW: Final = refusal(HTTPStatus.CONFLICT, "It is not published yet, or waits for a person.")

Target = Annotated[str, Path(pattern=NAME_PATTERN, max_length=40, examples=["company-blog"])]


def placement_routes(database: Database) -> APIRouter:
    routes = router("/content/{content_id}/placements", tags=["content"])

    @routes.get("", summary="See at which targets an article is", responses=UNKNOWN)
    async def list_placements(caller: MayRead, content_id: UUID) -> PlacementList:
        """The article's home, and its state at each further target."""
        async with database.connection() as connection:
            placed = await _seen(connection, content_id, caller)
            return await _told(connection, placed)

    @routes.post("/{target}", summary="Have one target brought up to date", responses={**UNKNOWN, **NOT_NOW})
    async def request_placement(
        caller: MayReview, content_id: UUID, target: Target, request: PlacementBody
    ) -> PlacementList:
        """Updates one target: one that failed, or that the brand added later. An up-to-date target is left alone.

        Changes that people made at the target stay, unless `overwrite` is set. An article that was taken down is
        withdrawn there.
        """
        async with database.transaction() as tx:
            placed = await _seen(tx.connection, content_id, caller, locked=True)
            await hold_unmoved(tx.connection, placed.brand_slug)
            there = {each.target for each in await store.placements_of(tx.connection, content_id)}
            if target not in {placed.home, *placed.targets, *there}:
                raise RefusalError(
                    codes.UNKNOWN_TARGET,
                    f"'{target}' is no target of brand '{placed.brand_slug}', which has {', '.join(placed.targets)}",
                )
            if not placed.taken_down and (
                placed.waits or (target != placed.home and not placed.published_url)
            ):
                raise RefusalError(
                    codes.NOT_YET_PUBLISHED,
                    f"article {content_id} is not published at its home, {placed.home}, yet; the other targets follow that",
                )
            await commands.ask(tx, placed, target, overwrite=request.overwrite)
            return await _told(tx.connection, placed)

    return routes


async def _seen(
    connection: Connection, content_id: UUID, caller: Caller, *, locked: bool = False
) -> ArticlePlacements:
    placed = (await store.find_placed(connection, [content_id], locked=locked)).get(content_id)
    if placed is None or not caller.may_see(placed.brand_slug):
        raise RefusalError(codes.UNKNOWN_ARTICLE, f"there is no article {content_id}")
    return placed


async def _told(connection: Connection, placed: ArticlePlacements) -> PlacementList:
    found = await store.placements_of(connection, placed.content_id)
    return PlacementList(
        content_id=str(placed.content_id),
        home=placed.home,
        published_url=placed.published_url,
        items=tuple(map(PlacementView.from_row, found)),
    )
