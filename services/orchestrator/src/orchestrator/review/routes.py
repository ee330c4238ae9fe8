"""HTTP routes of drafts: lists and decisions."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query

from chassis.http.api import UNKNOWN, MayAdminister, MayRead, MayReview, add_routes, refusal, router
from chassis.http.conventions.pages import DEFAULT_PAGE, Page, PageLimit, page_of
from envelope.brand.payloads import BrandSlug
from messaging import Database
from orchestrator.brands import Slug, UnknownBrandError, find_brand, seen_slug
from orchestrator.cycles import BrandLimits
from orchestrator.removal import DeletedArticle
from orchestrator.review import deciding, deletion, store
from orchestrator.review.domain import ReviewedDraft
from orchestrator.review.models import (
    ApproveDraftBody,
    DecisionList,
    DeleteArticleBody,
    DeletedArticleView,
    DraftList,
    DraftView,
    EditDraftBody,
    RejectDraftBody,
    ReturnDraftBody,
    ReviewMarkView,
    TakeDownBody,
)
from orchestrator.review.version_routes import version_routes
from review.decisions import Decision, DecisionKind, RecordedDecision
from review.rules import DraftState

MAX_DECISIONS: Final = 100
LARGER_TEXTS: Final = {"/v1/drafts/{content_id}/edit": 1_500_000}
"""100,000 characters, each written as two JSON escapes, come to 1.2 MB."""
_FOUND: Final = {
    **UNKNOWN,
    **refusal(HTTPStatus.GONE, "It was deleted; `detail` says when and by whom."),
}
_DECIDED: Final = {
    **_FOUND,
    **refusal(HTTPStatus.CONFLICT, "The draft has changed since you read it; `detail` says how."),
}

After = Annotated[UUID | None, Query(description="`next` of the page before.")]


def review_routes(database: Database, limits: BrandLimits) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, version_routes(database), _looking(database, limits), _deciding(database, limits))
    return routes


def _page(found: Sequence[ReviewedDraft], limit: int) -> Page[ReviewedDraft, UUID]:
    return page_of(found, limit, lambda draft: draft.content_id)


def _looking(database: Database, limits: BrandLimits) -> APIRouter:
    routes = router(tags=["drafts"])

    @routes.get("/drafts", summary="List drafts", response_model=DraftList)
    async def list_drafts(
        caller: MayRead,
        brand: Annotated[BrandSlug | None, Query(description="Of this brand alone.")] = None,
        state: Annotated[
            DraftState | None, Query(description="Left out: all about which something is open.")
        ] = None,
        after: After = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> Page[ReviewedDraft, UUID]:
        """Drafts that wait, are being rewritten or offer a correction; oldest first."""
        brands = caller.visible_brands(brand)
        async with database.connection() as connection:
            found = await store.drafts(connection, brands=brands, state=state, after=after, limit=limit + 1)
        return _page(found, limit)

    @routes.get(
        "/brands/{slug}/content",
        summary="List a brand's articles",
        response_model=DraftList,
        responses=UNKNOWN,
    )
    async def list_brand_articles(
        caller: MayRead, slug: Slug, after: After = None, limit: PageLimit = DEFAULT_PAGE
    ) -> Page[ReviewedDraft, UUID]:
        """All articles of a brand in any state, oldest first."""
        checked = seen_slug(slug, caller)
        async with database.connection() as connection:
            if await find_brand(connection, checked) is None:
                raise UnknownBrandError(slug)
            found = await store.articles(connection, checked, after=after, limit=limit + 1)
        return _page(found, limit)

    @routes.get("/drafts/{content_id}", summary="Read a draft", response_model=DraftView, responses=_FOUND)
    async def get_draft(caller: MayRead, content_id: UUID) -> ReviewedDraft:
        """One article under review, or one that never waited."""
        return await deciding.get_draft(database, content_id, caller.brands)

    @routes.get(
        "/drafts/{content_id}/decisions",
        summary="Who decided what",
        response_model=DecisionList,
        responses=_FOUND,
    )
    async def list_draft_decisions(caller: MayRead, content_id: UUID) -> dict[str, list[RecordedDecision]]:
        """The latest hundred decisions, edits included."""
        await deciding.get_draft(database, content_id, caller.brands)
        async with database.connection() as connection:
            return {"items": await store.decisions_of(connection, content_id, MAX_DECISIONS)}

    @routes.post(
        "/brands/{slug}/looked",
        summary="Say that a person has looked",
        response_model=ReviewMarkView,
        responses=UNKNOWN,
    )
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
    decided: dict[str, Any] = {"response_model": DraftView, "responses": _DECIDED}

    @routes.post("/approve", summary="Approve a version", **decided)
    async def approve_draft(caller: MayReview, content_id: UUID, request: ApproveDraftBody) -> ReviewedDraft:
        """Publishes exactly this version, now or at the given time. A repeated request changes nothing."""
        decision = Decision(
            DecisionKind.APPROVE if request.publish_at is None else DecisionKind.SCHEDULE,
            caller.name,
            request.version,
            publish_at=request.publish_at,
            despite_newer=request.despite_newer,
        )
        return await deciding.decide(database, content_id, decision, caller, limits)

    @routes.post(
        "/looked",
        summary="Say that a person has reviewed a draft",
        response_model=DraftView,
        responses=_FOUND,
    )
    async def mark_reviewed(caller: MayReview, content_id: UUID) -> ReviewedDraft:
        """Marks this draft as reviewed without a decision, so that another one may be written."""
        return await deciding.mark_reviewed(database, content_id, caller, limits)

    @routes.post("/unschedule", summary="Call off a publication at a time", **decided)
    async def unschedule_draft(caller: MayReview, content_id: UUID) -> ReviewedDraft:
        """Cancels the scheduled publication; the draft waits for a person again."""
        decision = Decision(DecisionKind.UNSCHEDULE, caller.name)
        return await deciding.decide(database, content_id, decision, caller, limits)

    @routes.post("/reject", summary="Reject a draft", **decided)
    async def reject_draft(caller: MayReview, content_id: UUID, request: RejectDraftBody) -> ReviewedDraft:
        """Rejects the draft and ends its keyword for good; of an approved article, drops the correction."""
        decision = Decision(DecisionKind.REJECT, caller.name, request.version, request.reason)
        return await deciding.decide(database, content_id, decision, caller, limits)

    @routes.post("/return", summary="Send a draft back", **decided)
    async def return_draft(caller: MayReview, content_id: UUID, request: ReturnDraftBody) -> ReviewedDraft:
        """Returns the draft to a model with the comment. A digest cannot be returned: edit or reject it."""
        decision = Decision(DecisionKind.RETURN, caller.name, request.version, request.comment)
        return await deciding.decide(database, content_id, decision, caller, limits)

    @routes.post("/take-down", summary="Take a page down", **decided)
    async def take_down_article(caller: MayReview, content_id: UUID, request: TakeDownBody) -> ReviewedDraft:
        """Takes the page down: it answers 410 and leaves lists, feeds and site maps. An approval brings it back."""
        decision = Decision(DecisionKind.TAKE_DOWN, caller.name, comment=request.reason)
        return await deciding.decide(database, content_id, decision, caller, limits)

    @routes.post("/delete", summary="Delete an article", response_model=DeletedArticleView, responses=UNKNOWN)
    async def delete_article(
        caller: MayAdminister, content_id: UUID, request: DeleteArticleBody
    ) -> DeletedArticle:
        """Deletes its text, versions and decisions for good; its page answers 410. A repeated request names the first caller and time."""
        return await deletion.delete(database, content_id, caller, limits, reason=request.reason)

    @routes.post("/edit", summary="Edit an article", **decided)
    async def edit_draft(caller: MayReview, content_id: UUID, request: EditDraftBody) -> ReviewedDraft:
        """Stores a new version, measures it, and lets it wait for approval. A repeated request stores nothing."""
        return await deciding.edit(database, content_id, caller, limits, request)

    return routes
