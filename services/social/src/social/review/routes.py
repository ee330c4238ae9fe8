"""HTTP routes for the review of posts."""

from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query

from chassis.http.api import UNKNOWN, MayOperate, MayRead, MayReview, refusal, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit, page_of
from envelope.brand.payloads import BrandSlug
from messaging import Database
from review.decisions import Decision, DecisionKind
from review.rules import PostState
from social.review import store
from social.review.decisions import PostReview
from social.review.models import (
    ApprovePostRequest,
    CountPostTextRequest,
    EditPostRequest,
    PostDecisionList,
    PostDecisionView,
    PostList,
    PostTextCounts,
    PostView,
    RejectPostRequest,
    TextCountView,
)
from social.review.texts import cleaned, counts
from social.sending import DuePosts
from social.urls import FeedUrls

COUNT: Final = "/v1/posts/{post_id}/count"
MAX_DECISIONS: Final = 100
_DECIDED: Final = {
    **UNKNOWN,
    **refusal(HTTPStatus.CONFLICT, "The post has changed meanwhile; `detail` says what happened."),
}


def count_routes(database: Database, urls: FeedUrls, due: DuePosts) -> APIRouter:
    routes = router("/posts", tags=["posts"])
    review = PostReview(database, urls, due)

    @routes.post("/{post_id}/count", summary="Count a text for a post", responses=UNKNOWN)
    async def count_post_text(
        caller: MayRead, post_id: UUID, request: CountPostTextRequest
    ) -> PostTextCounts:
        """Counts a text as the post's channel does, as it would be stored. Nothing is stored."""
        pending = await review.find(post_id, caller)
        found = counts(pending.post.channel, cleaned(request.text))
        return PostTextCounts(counts=tuple(map(TextCountView.from_row, found)))

    return routes


def review_routes(database: Database, urls: FeedUrls, due: DuePosts) -> APIRouter:
    routes = router("/posts", tags=["posts"])
    review = PostReview(database, urls, due)
    _reading(routes, database, review, urls)
    _deciding(routes, review, urls)
    return routes


def _reading(routes: APIRouter, database: Database, review: PostReview, urls: FeedUrls) -> None:
    @routes.get("", summary="List posts")
    async def list_posts(
        caller: MayRead,
        brand: Annotated[BrandSlug | None, Query(description="Only posts of this brand.")] = None,
        state: Annotated[
            PostState | None,
            Query(description="Omitted: posts that wait, have a time, are on their way or in doubt."),
        ] = None,
        after: Annotated[int | None, Query(description="`next` of the page before.", ge=0, lt=2**63)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> PostList:
        """Posts of brands that review them, and all posts for other platforms, in the order of their creation."""
        brands = caller.visible_brands(brand)
        async with database.connection() as connection:
            found = await store.page(connection, brands=brands, state=state, after=after, limit=limit + 1)
        page = page_of(found, limit, lambda pending: pending.number)
        return PostList(items=tuple(PostView.of(each, urls) for each in page.items), next=page.next)

    @routes.get("/{post_id}", summary="Read a post", responses=UNKNOWN)
    async def get_post(caller: MayRead, post_id: UUID) -> PostView:
        """A post of any state; also one that went to the built-in feed without review."""
        return PostView.of(await review.find(post_id, caller), urls)

    @routes.get(
        "/{post_id}/decisions",
        summary="List decisions about a post",
        responses=UNKNOWN,
    )
    async def list_post_decisions(caller: MayRead, post_id: UUID) -> PostDecisionList:
        """The latest hundred decisions, edits included."""
        await review.find(post_id, caller)
        async with database.connection() as connection:
            found = await store.decisions_of(connection, post_id, MAX_DECISIONS)
        return PostDecisionList(items=tuple(map(PostDecisionView.from_row, found)))


def _deciding(routes: APIRouter, review: PostReview, urls: FeedUrls) -> None:
    async def decided(
        caller: Caller, post_id: UUID, kind: DecisionKind, *, text: str | None = None, **more: Any
    ) -> PostView:
        decision = Decision(kind, caller.name, **more)
        return PostView.of(await review.decide(post_id, decision, caller, text=text), urls)

    @routes.post("/{post_id}/approve", summary="Approve a post", responses=_DECIDED)
    async def approve_post(caller: MayReview, post_id: UUID, request: ApprovePostRequest) -> PostView:
        """Approves exactly this version for the given time, the next free slot, or now; `publish_at` of the answer says when."""
        kind = DecisionKind.APPROVE if request.publish_at is None else DecisionKind.SCHEDULE
        return await decided(
            caller,
            post_id,
            kind,
            version=request.version,
            publish_at=request.publish_at,
            at_once=request.now,
        )

    @routes.post("/{post_id}/unschedule", summary="Cancel the set time of a post", responses=_DECIDED)
    async def unschedule_post(caller: MayReview, post_id: UUID) -> PostView:
        """Cancels the set time; the post waits for review again."""
        return await decided(caller, post_id, DecisionKind.UNSCHEDULE)

    @routes.post("/{post_id}/edit", summary="Edit a post", responses=_DECIDED)
    async def edit_post(caller: MayReview, post_id: UUID, request: EditPostRequest) -> PostView:
        """Makes a new version, which waits for approval; a set time is cancelled. The same request again makes no other."""
        return await decided(
            caller,
            post_id,
            DecisionKind.EDIT,
            version=request.version,
            comment=request.comment,
            text=request.text,
        )

    @routes.post("/{post_id}/reject", summary="Reject a post", responses=_DECIDED)
    async def reject_post(caller: MayReview, post_id: UUID, request: RejectPostRequest) -> PostView:
        """The article gets no post on this channel, unless the post is reopened."""
        return await decided(
            caller, post_id, DecisionKind.REJECT, version=request.version, comment=request.reason
        )

    @routes.post("/{post_id}/reopen", summary="Reopen a rejected post", responses=_DECIDED)
    async def reopen_post(caller: MayReview, post_id: UUID) -> PostView:
        """The rejected post waits for review again. The same request again changes nothing."""
        return await decided(caller, post_id, DecisionKind.REOPEN)

    @routes.post("/{post_id}/retry", summary="Retry a failed post", responses=_DECIDED)
    async def retry_post(caller: MayOperate, post_id: UUID) -> PostView:
        """Sends one failed post on another platform again. The same request again changes nothing."""
        return await decided(caller, post_id, DecisionKind.RETRY)
