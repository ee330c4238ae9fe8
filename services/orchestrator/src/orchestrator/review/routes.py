"""Requests about drafts: what waits for a person, and what the person decides."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, FastAPI, Query, Request, Response

from chassis.http.api import UNKNOWN, MayAdminister, MayRead, MayReview, add_routes, refusal, router
from chassis.http.problems import ProblemResponse
from envelope.brand.payloads import BrandSlug
from messaging import Database
from orchestrator.brands import Slug, UnknownBrandError, find_brand, seen_slug
from orchestrator.cycles import Room
from orchestrator.removal import DeletedArticleError
from orchestrator.review import deciding, deletion, scheduling, store
from orchestrator.review.deciding import CannotRewriteError, Change, UnknownDraftError, UnusableTextError
from orchestrator.review.domain import DecidedOtherwiseError, DraftState, NoSuchVersionError
from orchestrator.review.models import (
    Approving,
    DecisionList,
    DecisionView,
    DeletedView,
    Deleting,
    DraftList,
    DraftView,
    Editing,
    Looked,
    Rejecting,
    Returning,
    TakingDown,
)
from orchestrator.review.scheduling import PastTimeError
from orchestrator.review.version_routes import version_routes

MAX_PAGE: Final = 200
MAX_DECISIONS: Final = 100
LARGER_TEXTS: Final = {"/v1/drafts/{content_id}/edit": 1_500_000}
"""100,000 characters, each written as two JSON escapes, come to 1.2 MB."""
GONE: Final = refusal(HTTPStatus.GONE, "It was deleted; `detail` says when and by whom.")
OVERTAKEN: Final = refusal(
    HTTPStatus.CONFLICT, "It is not as you believe: somebody was faster; `detail` says what happened."
)


def review_routes(database: Database, room: Room) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, version_routes(database), _looking(database, room), _deciding(database, room))
    return routes


def answer_refusals(app: FastAPI) -> None:
    """Has the application answer what is wrong with a decision by a sentence."""
    for error, status in (
        (UnknownDraftError, HTTPStatus.NOT_FOUND),
        (DeletedArticleError, HTTPStatus.GONE),
        (NoSuchVersionError, HTTPStatus.NOT_FOUND),
        (DecidedOtherwiseError, HTTPStatus.CONFLICT),
        (CannotRewriteError, HTTPStatus.CONFLICT),
        (UnusableTextError, HTTPStatus.UNPROCESSABLE_ENTITY),
        (PastTimeError, HTTPStatus.UNPROCESSABLE_ENTITY),
    ):
        app.add_exception_handler(error, _refused_with(status))


def _refused_with(status: HTTPStatus) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refused(_: Request, error: Exception) -> Response:
        return ProblemResponse(status, str(error))

    return refused


def _looking(database: Database, room: Room) -> APIRouter:
    routes = router(tags=["drafts"])

    @routes.get("/drafts", summary="List drafts", response_model=DraftList)
    async def list_drafts(
        caller: MayRead,
        brand: Annotated[BrandSlug | None, Query(description="Of this brand alone.")] = None,
        state: Annotated[
            DraftState | None, Query(description="Left out: all about which something is open.")
        ] = None,
        after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    ) -> DraftList:
        """What waits for a person, is written again, or is offered as a correction, in the order in which it was begun."""
        brands = None if caller.brands is None else sorted(caller.brands)
        if brand is not None:
            brands = [brand] if caller.may_see(brand) else []
        async with database.connection() as connection:
            found = await store.drafts(connection, brands=brands, state=state, after=after, limit=limit + 1)
        return DraftList(
            items=tuple(map(DraftView.of, found[:limit])),
            next=found[limit - 1].content_id if len(found) > limit else None,
        )

    @routes.get(
        "/brands/{slug}/content",
        summary="List a brand's articles",
        response_model=DraftList,
        responses=UNKNOWN,
    )
    async def list_articles(
        caller: MayRead,
        slug: Slug,
        after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    ) -> DraftList:
        """All of them, whatever their state, in the order in which they were begun."""
        checked = seen_slug(slug, caller)
        async with database.connection() as connection:
            if await find_brand(connection, checked) is None:
                raise UnknownBrandError(slug)
            found = await store.articles(connection, checked, after=after, limit=limit + 1)
        return DraftList(
            items=tuple(map(DraftView.of, found[:limit])),
            next=found[limit - 1].content_id if len(found) > limit else None,
        )

    @routes.get(
        "/drafts/{content_id}",
        summary="Read a draft",
        response_model=DraftView,
        responses={**UNKNOWN, **GONE},
    )
    async def get_draft(caller: MayRead, content_id: UUID) -> DraftView:
        """Also of an article that never waited."""
        return DraftView.of(await deciding.look_at(database, content_id, caller.brands))

    @routes.get(
        "/drafts/{content_id}/decisions",
        summary="Who decided what",
        response_model=DecisionList,
        responses={**UNKNOWN, **GONE},
    )
    async def get_decisions(caller: MayRead, content_id: UUID) -> DecisionList:
        """The latest hundred, edits included."""
        await deciding.look_at(database, content_id, caller.brands)
        async with database.connection() as connection:
            found = await store.decisions_of(connection, content_id, MAX_DECISIONS)
        return DecisionList(items=tuple(map(DecisionView.of, found)))

    @routes.post(
        "/brands/{slug}/looked",
        summary="Say that a person has looked",
        response_model=Looked,
        responses=UNKNOWN,
    )
    async def looked(caller: MayReview, slug: Slug) -> Looked:
        """All that waits has been seen, though nothing is decided: the brand goes on."""
        checked = seen_slug(slug, caller)
        moment = await deciding.look_over(database, checked, room)
        if moment is None:
            raise UnknownBrandError(slug)
        return Looked(brand_slug=slug, looked_at=moment)

    return routes


def _deciding(database: Database, room: Room) -> APIRouter:
    routes = router("/drafts/{content_id}", tags=["drafts"])

    @routes.post(
        "/approve",
        summary="Approve a version",
        response_model=DraftView,
        responses={**UNKNOWN, **GONE, **OVERTAKEN},
    )
    async def approve(caller: MayReview, content_id: UUID, request: Approving) -> DraftView:
        """Exactly this version is published, now or at the time given. The same again changes nothing."""
        if request.publish_at is not None:
            draft = await scheduling.schedule(
                database,
                content_id,
                request.version,
                caller,
                room,
                publish_at=request.publish_at,
                despite_newer=request.despite_newer,
            )
            return DraftView.of(draft)
        return DraftView.of(
            await deciding.approve(
                database, content_id, request.version, caller, room, despite_newer=request.despite_newer
            )
        )

    @routes.post(
        "/looked",
        summary="Say that a person has reviewed a draft",
        response_model=DraftView,
        responses={**UNKNOWN, **GONE},
    )
    async def mark_reviewed(caller: MayReview, content_id: UUID) -> DraftView:
        """This draft has been seen, though nothing is decided: another one may be written in its place."""
        return DraftView.of(await deciding.mark_reviewed(database, content_id, caller, room))

    @routes.post(
        "/unschedule",
        summary="Call off a publication at a time",
        response_model=DraftView,
        responses={**UNKNOWN, **GONE, **OVERTAKEN},
    )
    async def unschedule(caller: MayReview, content_id: UUID) -> DraftView:
        """What was to be published at a time waits for a person again."""
        return DraftView.of(await scheduling.unschedule(database, content_id, caller))

    @routes.post(
        "/reject",
        summary="Reject a draft",
        response_model=DraftView,
        responses={**UNKNOWN, **GONE, **OVERTAKEN},
    )
    async def reject(caller: MayReview, content_id: UUID, request: Rejecting) -> DraftView:
        """Ends its keyword, for good; of an approved article, drops the correction that waits."""
        return DraftView.of(
            await deciding.reject(database, content_id, request.version, caller, room, reason=request.reason)
        )

    @routes.post(
        "/return",
        summary="Send a draft back",
        response_model=DraftView,
        responses={**UNKNOWN, **GONE, **OVERTAKEN},
    )
    async def send_back(caller: MayReview, content_id: UUID, request: Returning) -> DraftView:
        """A model writes it again and is told the comment. A digest cannot be sent back: it is edited or rejected."""
        return DraftView.of(
            await deciding.send_back(
                database, content_id, request.version, caller, room, comment=request.comment
            )
        )

    @routes.post(
        "/take-down",
        summary="Take a page down",
        response_model=DraftView,
        responses={**UNKNOWN, **GONE, **OVERTAKEN},
    )
    async def take_down(caller: MayReview, content_id: UUID, request: TakingDown) -> DraftView:
        """Its address answers 410 from now on, and no list, feed or site map names it. An approval brings it back."""
        return DraftView.of(
            await deciding.take_down(database, content_id, caller, room, reason=request.reason)
        )

    @routes.post("/delete", summary="Delete an article", response_model=DeletedView, responses=UNKNOWN)
    async def delete(caller: MayAdminister, content_id: UUID, request: Deleting) -> DeletedView:
        """For good: its text, versions and decisions are removed, and its page answers 410. Again, it says who did it and when."""
        return DeletedView.of(
            await deletion.delete(database, content_id, caller, room, reason=request.reason)
        )

    @routes.post(
        "/edit",
        summary="Edit an article",
        response_model=DraftView,
        responses={**UNKNOWN, **GONE, **OVERTAKEN},
    )
    async def edit(caller: MayReview, content_id: UUID, request: Editing) -> DraftView:
        """Makes a new version, which is measured, and waits to be approved. The same again makes no other."""
        change = Change(
            title=request.title,
            meta_description=request.meta_description,
            slug=request.slug,
            body_markdown=request.body_markdown,
            key_points=request.key_points,
            why=request.comment,
        )
        return DraftView.of(await deciding.edit(database, content_id, request.version, caller, room, change))

    return routes
