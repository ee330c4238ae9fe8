"""HTTP routes for the review of posts."""

from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, FastAPI, Query

from chassis.http.api import UNKNOWN, MayOperate, MayRead, MayReview, refusal, refuse_with, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from envelope.brand.payloads import BrandSlug
from messaging import Database
from social import problem_codes as codes
from social.review import decisions, store
from social.review.decisions import PastTimeError, UnknownPostError
from social.review.domain import NoSuchVersionError, PostConflictError, PostState, UnusableTextError
from social.review.models import (
    ApprovePostRequest,
    EditPostRequest,
    PostDecisionList,
    PostDecisionView,
    PostList,
    PostView,
    RejectPostRequest,
)
from social.sending import DuePosts
from social.urls import FeedUrls

MAX_DECISIONS: Final = 100
OVERTAKEN: Final = refusal(
    HTTPStatus.CONFLICT, "The post has changed meanwhile; `detail` says what happened."
)


def answer_refusals(app: FastAPI) -> None:
    """Makes the application answer errors of decisions as problems."""
    refuse_with(
        app,
        {
            UnknownPostError: codes.UNKNOWN_POST,
            NoSuchVersionError: codes.UNKNOWN_VERSION,
            PostConflictError: codes.DECIDED_OTHERWISE,
            UnusableTextError: codes.UNUSABLE_TEXT,
            PastTimeError: codes.PAST_TIME,
        },
    )


def review_routes(database: Database, urls: FeedUrls, due: DuePosts) -> APIRouter:
    routes = router("/posts", tags=["posts"])

    @routes.get("", summary="List posts", response_model=PostList)
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
        return PostList(
            items=tuple(PostView.of(each, urls) for each in found[:limit]),
            next=found[limit - 1].number if len(found) > limit else None,
        )

    @routes.get("/{post_id}", summary="Read a post", response_model=PostView, responses=UNKNOWN)
    async def get_post(caller: MayRead, post_id: UUID) -> PostView:
        """A post under review, a decided one, or one for another platform."""
        return PostView.of(await decisions.find_post(database, post_id, caller.brands), urls)

    @routes.get(
        "/{post_id}/decisions",
        summary="List decisions about a post",
        response_model=PostDecisionList,
        responses=UNKNOWN,
    )
    async def list_post_decisions(caller: MayRead, post_id: UUID) -> PostDecisionList:
        """The latest hundred decisions, edits included."""
        await decisions.find_post(database, post_id, caller.brands)
        async with database.connection() as connection:
            found = await store.decisions_of(connection, post_id, MAX_DECISIONS)
        return PostDecisionList(items=tuple(map(PostDecisionView.of, found)))

    @routes.post(
        "/{post_id}/approve",
        summary="Approve a post",
        response_model=PostView,
        responses={**UNKNOWN, **OVERTAKEN},
    )
    async def approve_post(caller: MayReview, post_id: UUID, request: ApprovePostRequest) -> PostView:
        """Approves exactly this version for the given time, the next free slot, or now; `publish_at` of the answer says when."""
        return PostView.of(
            await decisions.approve(
                database,
                urls,
                due,
                post_id,
                request.version,
                caller,
                publish_at=request.publish_at,
                at_once=request.now,
            ),
            urls,
        )

    @routes.post(
        "/{post_id}/unschedule",
        summary="Cancel the set time of a post",
        response_model=PostView,
        responses={**UNKNOWN, **OVERTAKEN},
    )
    async def unschedule_post(caller: MayReview, post_id: UUID) -> PostView:
        """Cancels the set time; the post waits for review again."""
        return PostView.of(await decisions.unschedule(database, post_id, caller), urls)

    @routes.post(
        "/{post_id}/edit", summary="Edit a post", response_model=PostView, responses={**UNKNOWN, **OVERTAKEN}
    )
    async def edit_post(caller: MayReview, post_id: UUID, request: EditPostRequest) -> PostView:
        """Makes a new version, which waits for approval; a set time is cancelled. The same request again makes no other."""
        return PostView.of(
            await decisions.edit(
                database, post_id, request.version, request.text, caller, comment=request.comment
            ),
            urls,
        )

    @routes.post(
        "/{post_id}/reject",
        summary="Reject a post",
        response_model=PostView,
        responses={**UNKNOWN, **OVERTAKEN},
    )
    async def reject_post(caller: MayReview, post_id: UUID, request: RejectPostRequest) -> PostView:
        """The article gets no post on this channel, for good."""
        return PostView.of(
            await decisions.reject(database, post_id, request.version, caller, reason=request.reason), urls
        )

    @routes.post(
        "/{post_id}/retry",
        summary="Retry a failed post",
        response_model=PostView,
        responses={**UNKNOWN, **OVERTAKEN},
    )
    async def retry_post(caller: MayOperate, post_id: UUID) -> PostView:
        """Sends one failed post on another platform again. The same request again changes nothing."""
        return PostView.of(await decisions.retry(database, due, post_id, caller), urls)

    return routes
