"""HTTP routes of drafts: lists and decisions."""

from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query

from chassis.http.api import UNKNOWN, MayAdminister, MayRead, MayReview, add_routes, refusal, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import ProblemCode
from envelope.brand.payloads import BrandSlug
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.brands import Slug, UnknownBrandError, find_brand, seen_slug
from orchestrator.cycles import BrandLimits
from orchestrator.removal import DeletedArticleError
from orchestrator.review import deciding, deletion, scheduling, store
from orchestrator.review.deciding import CannotRewriteError, UnknownDraftError, UnusableTextError
from orchestrator.review.domain import DraftDecidedError, DraftState, NoSuchVersionError
from orchestrator.review.models import (
    ApproveDraftBody,
    DecisionList,
    DeleteArticleBody,
    DeletedArticleView,
    DraftDecisionView,
    DraftList,
    DraftView,
    EditDraftBody,
    RejectDraftBody,
    ReturnDraftBody,
    ReviewMarkView,
    TakeDownBody,
)
from orchestrator.review.scheduling import PastTimeError
from orchestrator.review.version_routes import version_routes

MAX_DECISIONS: Final = 100
LARGER_TEXTS: Final = {"/v1/drafts/{content_id}/edit": 1_500_000}
"""100,000 characters, each written as two JSON escapes, come to 1.2 MB."""
GONE: Final = refusal(HTTPStatus.GONE, "It was deleted; `detail` says when and by whom.")
OVERTAKEN: Final = refusal(HTTPStatus.CONFLICT, "The draft has changed since you read it; `detail` says how.")
REFUSALS: Final[dict[type[Exception], ProblemCode]] = {
    UnknownDraftError: codes.UNKNOWN_DRAFT,
    DeletedArticleError: codes.ARTICLE_DELETED,
    NoSuchVersionError: codes.UNKNOWN_VERSION,
    DraftDecidedError: codes.DECIDED_OTHERWISE,
    CannotRewriteError: codes.CANNOT_REWRITE,
    UnusableTextError: codes.UNUSABLE_TEXT,
    PastTimeError: codes.PAST_TIME,
}
"""Codes of errors about drafts."""
DECIDED: Final = {**UNKNOWN, **GONE, **OVERTAKEN}


def review_routes(database: Database, limits: BrandLimits) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, version_routes(database), _looking(database, limits), _deciding(database, limits))
    return routes


def _looking(database: Database, limits: BrandLimits) -> APIRouter:
    routes = router(tags=["drafts"])

    @routes.get("/drafts", summary="List drafts")
    async def list_drafts(
        caller: MayRead,
        brand: Annotated[BrandSlug | None, Query(description="Of this brand alone.")] = None,
        state: Annotated[
            DraftState | None, Query(description="Left out: all about which something is open.")
        ] = None,
        after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> DraftList:
        """Drafts that wait, are being rewritten or offer a correction; oldest first."""
        brands = None if caller.brands is None else sorted(caller.brands)
        if brand is not None:
            brands = [brand] if caller.may_see(brand) else []
        async with database.connection() as connection:
            found = await store.drafts(connection, brands=brands, state=state, after=after, limit=limit + 1)
        return DraftList(
            items=tuple(map(DraftView.of, found[:limit])),
            next=found[limit - 1].content_id if len(found) > limit else None,
        )

    @routes.get("/brands/{slug}/content", summary="List a brand's articles", responses=UNKNOWN)
    async def list_brand_articles(
        caller: MayRead,
        slug: Slug,
        after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> DraftList:
        """All articles of a brand in any state, oldest first."""
        checked = seen_slug(slug, caller)
        async with database.connection() as connection:
            if await find_brand(connection, checked) is None:
                raise UnknownBrandError(slug)
            found = await store.articles(connection, checked, after=after, limit=limit + 1)
        return DraftList(
            items=tuple(map(DraftView.of, found[:limit])),
            next=found[limit - 1].content_id if len(found) > limit else None,
        )

    @routes.get("/drafts/{content_id}", summary="Read a draft", responses={**UNKNOWN, **GONE})
    async def get_draft(caller: MayRead, content_id: UUID) -> DraftView:
        """One article under review, or one that never waited."""
        return DraftView.of(await deciding.get_draft(database, content_id, caller.brands))

    @routes.get("/drafts/{content_id}/decisions", summary="Who decided what", responses={**UNKNOWN, **GONE})
    async def list_draft_decisions(caller: MayRead, content_id: UUID) -> DecisionList:
        """The latest hundred decisions, edits included."""
        await deciding.get_draft(database, content_id, caller.brands)
        async with database.connection() as connection:
            found = await store.decisions_of(connection, content_id, MAX_DECISIONS)
        return DecisionList(items=tuple(map(DraftDecisionView.of, found)))

    @routes.post("/brands/{slug}/looked", summary="Say that a person has looked", responses=UNKNOWN)
    async def mark_brand_reviewed(caller: MayReview, slug: Slug) -> ReviewMarkView:
        """Marks all waiting drafts as reviewed without a decision, so that the brand begins more."""
        checked = seen_slug(slug, caller)
        moment = await deciding.mark_brand_reviewed(database, checked, limits)
        if moment is None:
            raise UnknownBrandError(slug)
        return ReviewMarkView(brand_slug=slug, looked_at=moment)

    return routes


def _deciding(database: Database, limits: BrandLimits) -> APIRouter:
    routes = router("/drafts/{content_id}", tags=["drafts"])

    @routes.post("/approve", summary="Approve a version", responses=DECIDED)
    async def approve_draft(caller: MayReview, content_id: UUID, request: ApproveDraftBody) -> DraftView:
        """Publishes exactly this version, now or at the given time. A repeated request changes nothing."""
        if request.publish_at is not None:
            draft = await scheduling.schedule(
                database,
                content_id,
                request.version,
                caller,
                limits,
                publish_at=request.publish_at,
                despite_newer=request.despite_newer,
            )
            return DraftView.of(draft)
        return DraftView.of(
            await deciding.approve(
                database, content_id, request.version, caller, limits, despite_newer=request.despite_newer
            )
        )

    @routes.post("/looked", summary="Say that a person has reviewed a draft", responses={**UNKNOWN, **GONE})
    async def mark_reviewed(caller: MayReview, content_id: UUID) -> DraftView:
        """Marks this draft as reviewed without a decision, so that another one may be written."""
        return DraftView.of(await deciding.mark_reviewed(database, content_id, caller, limits))

    @routes.post("/unschedule", summary="Call off a publication at a time", responses=DECIDED)
    async def unschedule_draft(caller: MayReview, content_id: UUID) -> DraftView:
        """Cancels the scheduled publication; the draft waits for a person again."""
        return DraftView.of(await scheduling.unschedule(database, content_id, caller))

    @routes.post("/reject", summary="Reject a draft", responses=DECIDED)
    async def reject_draft(caller: MayReview, content_id: UUID, request: RejectDraftBody) -> DraftView:
        """Rejects the draft and ends its keyword for good; of an approved article, drops the correction."""
        return DraftView.of(
            await deciding.reject(
                database, content_id, request.version, caller, limits, reason=request.reason
            )
        )

    @routes.post("/return", summary="Send a draft back", responses=DECIDED)
    async def return_draft(caller: MayReview, content_id: UUID, request: ReturnDraftBody) -> DraftView:
        """Returns the draft to a model with the comment. A digest cannot be returned: edit or reject it."""
        return DraftView.of(
            await deciding.send_back(
                database, content_id, request.version, caller, limits, comment=request.comment
            )
        )

    @routes.post("/take-down", summary="Take a page down", responses=DECIDED)
    async def take_down_article(caller: MayReview, content_id: UUID, request: TakeDownBody) -> DraftView:
        """Takes the page down: it answers 410 and leaves lists, feeds and site maps. An approval brings it back."""
        return DraftView.of(
            await deciding.take_down(database, content_id, caller, limits, reason=request.reason)
        )

    @routes.post("/delete", summary="Delete an article", responses=UNKNOWN)
    async def delete_article(
        caller: MayAdminister, content_id: UUID, request: DeleteArticleBody
    ) -> DeletedArticleView:
        """Deletes its text, versions and decisions for good; its page answers 410. A repeated request names the first caller and time."""
        return DeletedArticleView.from_row(
            await deletion.delete(database, content_id, caller, limits, reason=request.reason)
        )

    @routes.post("/edit", summary="Edit an article", responses=DECIDED)
    async def edit_draft(caller: MayReview, content_id: UUID, request: EditDraftBody) -> DraftView:
        """Stores a new version, measures it, and lets it wait for approval. A repeated request stores nothing."""
        return DraftView.of(
            await deciding.edit(
                database, content_id, request.version, caller, limits, request, why=request.comment
            )
        )

    return routes
