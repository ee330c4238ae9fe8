"""HTTP routes of drafts: lists and decisions."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query

from chassis.http.api import UNKNOWN, MayAdminister, MayRead, MayReview, Moment, add_routes, refusal, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit, page_of
from envelope.brand.payloads import BrandSlug
from messaging import Database
from orchestrator.article_workflow import cut_sentence_views, find_evidence
from orchestrator.brands import Slug, UnknownBrandError, find_brand, seen_slug
from orchestrator.cycles import BrandLimits
from orchestrator.requests import WITHOUT_NUL
from orchestrator.review import deciding, deletion, edit_readings, store
from orchestrator.review.domain import DraftAuthor, DraftFilter, ReviewedDraft
from orchestrator.review.models import (
    ApproveDraftBody,
    DecisionList,
    DeleteArticleBody,
    DeletedArticleView,
    DraftCount,
    DraftDecisionView,
    DraftDetails,
    DraftList,
    DraftView,
    EditDraftBody,
    EditReadingView,
    KeepSentenceBody,
    RejectDraftBody,
    ReturnDraftBody,
    ReviewMarkView,
    TakeDownBody,
)
from orchestrator.review.proposal_routes import proposal_routes
from orchestrator.review.version_routes import version_routes
from review.decisions import Decision, DecisionKind
from review.rules import DraftState

MAX_DECISIONS: Final = 100
LARGER_TEXTS: Final = {
    "/v1/drafts/{content_id}/edit": 1_500_000,
    "/v1/drafts/{content_id}/proposals/edits": 1_500_000,
}
"""100,000 characters, each written as two JSON escapes, come to 1.2 MB."""
_FOUND: Final = {
    **UNKNOWN,
    **refusal(HTTPStatus.GONE, "It was deleted; `detail` says when and by whom."),
}
_DECIDED: Final = {
    **_FOUND,
    **refusal(HTTPStatus.CONFLICT, "The draft has changed since you read it; `detail` says how."),
}

OfBrand = Annotated[BrandSlug | None, Query(description="Of this brand alone.")]
InState = Annotated[DraftState | None, Query(description="Left out: all about which something is open.")]
ByAuthor = Annotated[DraftAuthor | None, Query(description="Whose newest version was made by these.")]
WithWords = Annotated[
    str | None,
    Query(
        description="Whose title or keyword has all of these words, or words that start with them.",
        min_length=1,
        max_length=200,
        pattern=WITHOUT_NUL,
    ),
]
SinceBefore = Annotated[Moment | None, Query(description="Waiting since before this time.")]
After = Annotated[UUID | None, Query(description="`next` of the page before.")]


def review_routes(database: Database, limits: BrandLimits, *, has_judge: bool = False) -> APIRouter:
    routes = APIRouter()
    add_routes(
        routes,
        version_routes(database),
        _looking(database, limits),
        _deciding(database, limits),
        _editing(database, limits, has_judge=has_judge),
        proposal_routes(database, limits, has_judge=has_judge),
    )
    return routes


def _page(found: Sequence[ReviewedDraft], limit: int) -> DraftList:
    return DraftList.from_row(page_of(found, limit, lambda draft: draft.content_id))


def _looking(database: Database, limits: BrandLimits) -> APIRouter:
    routes = router(tags=["drafts"])

    @routes.get("/drafts", summary="List drafts")
    async def list_drafts(
        caller: MayRead,
        brand: OfBrand = None,
        state: InState = None,
        author: ByAuthor = None,
        q: WithWords = None,
        since_before: SinceBefore = None,
        after: After = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> DraftList:
        """Drafts that wait, are being rewritten or offer a correction; oldest first."""
        wanted = DraftFilter(caller.visible_brands(brand), state, author, q, since_before)
        async with database.connection() as connection:
            found = await store.drafts(connection, wanted, after=after, limit=limit + 1)
        return _page(found, limit)

    @routes.get("/draft-counts", summary="Number of drafts")
    async def get_draft_count(
        caller: MayRead,
        brand: OfBrand = None,
        state: InState = None,
        author: ByAuthor = None,
        q: WithWords = None,
        since_before: SinceBefore = None,
    ) -> DraftCount:
        """The number of drafts that the same filters list; at most 10,000 are counted."""
        wanted = DraftFilter(caller.visible_brands(brand), state, author, q, since_before)
        async with database.connection() as connection:
            counted = await store.count_matches(connection, wanted)
        return DraftCount(count=counted, is_exact=counted < store.MOST_COUNTED)

    @routes.get(
        "/brands/{slug}/content",
        summary="List a brand's articles",
        responses=UNKNOWN,
    )
    async def list_brand_articles(
        caller: MayRead, slug: Slug, after: After = None, limit: PageLimit = DEFAULT_PAGE
    ) -> DraftList:
        """All articles of a brand in any state, oldest first."""
        checked = seen_slug(slug, caller)
        async with database.connection() as connection:
            if await find_brand(connection, checked) is None:
                raise UnknownBrandError(slug)
            found = await store.articles(connection, checked, after=after, limit=limit + 1)
        return _page(found, limit)

    @routes.get("/drafts/{content_id}", summary="Read a draft", responses=_FOUND)
    async def get_draft(caller: MayRead, content_id: UUID) -> DraftDetails:
        """One article under review, or one that never waited, with the sentences that the checks cut from it."""
        draft = await deciding.get_draft(database, content_id, caller.brands)
        async with database.connection() as connection:
            found = await find_evidence(connection, content_id, draft.version)
            progress = await edit_readings.find_progress(connection, content_id, draft.version)
            before, following = await store.find_neighbours(connection, draft.brand_slug, content_id)
        cuts = cut_sentence_views(found.evidence) if found else ()
        reading = EditReadingView.from_row(progress) if progress else None
        return DraftDetails(
            **DraftView.from_row(draft).model_dump(),
            cuts=cuts,
            reading=reading,
            before=before,
            following=following,
        )

    @routes.get(
        "/drafts/{content_id}/decisions",
        summary="Who decided what",
        responses=_FOUND,
    )
    async def list_draft_decisions(caller: MayRead, content_id: UUID) -> DecisionList:
        """The latest hundred decisions, edits included."""
        await deciding.get_draft(database, content_id, caller.brands)
        async with database.connection() as connection:
            found = await store.decisions_of(connection, content_id, MAX_DECISIONS)
        return DecisionList(items=tuple(map(DraftDecisionView.from_row, found)))

    @routes.post(
        "/brands/{slug}/looked",
        summary="Say that a person has looked",
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

    async def decided(caller: Caller, content_id: UUID, kind: DecisionKind, **more: Any) -> DraftView:
        decision = Decision(kind, caller.name, **more)
        return DraftView.from_row(await deciding.decide(database, content_id, decision, caller, limits))

    @routes.post("/approve", summary="Approve a version", responses=_DECIDED)
    async def approve_draft(caller: MayReview, content_id: UUID, request: ApproveDraftBody) -> DraftView:
        """Publishes exactly this version, now or at the given time. A repeated request changes nothing."""
        kind = DecisionKind.APPROVE if request.publish_at is None else DecisionKind.SCHEDULE
        return await decided(caller, content_id, kind, **request.model_dump())

    @routes.post("/looked", summary="Say that a person has reviewed a draft", responses=_FOUND)
    async def mark_reviewed(caller: MayReview, content_id: UUID) -> DraftView:
        """Marks this draft as reviewed without a decision, so that another one may be written."""
        return DraftView.from_row(await deciding.mark_reviewed(database, content_id, caller, limits))

    @routes.post("/unschedule", summary="Call off a publication at a time", responses=_DECIDED)
    async def unschedule_draft(caller: MayReview, content_id: UUID) -> DraftView:
        """Cancels the scheduled publication; the draft waits for a person again."""
        return await decided(caller, content_id, DecisionKind.UNSCHEDULE)

    @routes.post("/reject", summary="Reject a draft", responses=_DECIDED)
    async def reject_draft(caller: MayReview, content_id: UUID, request: RejectDraftBody) -> DraftView:
        """Rejects the draft and ends its keyword for good; of an approved article, drops the correction."""
        return await decided(
            caller, content_id, DecisionKind.REJECT, version=request.version, comment=request.reason
        )

    @routes.post("/return", summary="Send a draft back", responses=_DECIDED)
    async def return_draft(caller: MayReview, content_id: UUID, request: ReturnDraftBody) -> DraftView:
        """Returns the draft to a model with the comment. A digest cannot be returned: edit or reject it."""
        return await decided(caller, content_id, DecisionKind.RETURN, **request.model_dump())

    @routes.post("/take-down", summary="Take a page down", responses=_DECIDED)
    async def take_down_article(caller: MayReview, content_id: UUID, request: TakeDownBody) -> DraftView:
        """Takes the page down: it answers 410 and leaves lists, feeds and site maps. An approval brings it back."""
        return await decided(caller, content_id, DecisionKind.TAKE_DOWN, comment=request.reason)

    @routes.post("/delete", summary="Delete an article", responses=UNKNOWN)
    async def delete_article(
        caller: MayAdminister, content_id: UUID, request: DeleteArticleBody
    ) -> DeletedArticleView:
        """Deletes its text, versions and decisions for good; its page answers 410. A repeated request names the first caller and time."""
        return DeletedArticleView.from_row(
            await deletion.delete(database, content_id, caller, limits, reason=request.reason)
        )

    return routes


def _editing(database: Database, limits: BrandLimits, *, has_judge: bool) -> APIRouter:
    routes = router("/drafts/{content_id}", tags=["drafts"])

    @routes.post("/edit", summary="Edit an article", responses=_DECIDED)
    async def edit_draft(caller: MayReview, content_id: UUID, request: EditDraftBody) -> DraftView:
        """Stores a new version, measures it, and lets it wait for approval. A repeated request stores nothing.

        If a model judges, and writes for the brand, it reads the changed sentences afterwards; `reading` of the draft says how far it is.
        """
        edited = await deciding.edit(database, content_id, caller, limits, request, has_judge=has_judge)
        return DraftView.from_row(edited)

    @routes.post("/keep", summary="Keep a sentence that was cut", responses=_DECIDED)
    async def keep_cut_sentence(caller: MayReview, content_id: UUID, request: KeepSentenceBody) -> DraftView:
        """Stores a new version that has the sentence at its place, in the name of the caller, as an edit does.

        It is not checked, and has no citation: the page's note says that it is in an editor's name. A repeated request stores
        nothing.
        """
        return DraftView.from_row(await deciding.keep_sentence(database, content_id, caller, limits, request))

    return routes
