"""HTTP routes for repetitions of one post, or of an article on all its accounts."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path

from chassis import Connection
from chassis.http.api import UNKNOWN, MayRead, MayReview, add_routes, router
from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from messaging import Database
from social import problem_codes as codes
from social.calendar import entries, store
from social.calendar.models import RepeatsRequest, RepeatsView
from social.calendar.moving import UnknownEntryError
from social.calendar.slot_routes import Slug

ContentId = Annotated[UUID, Path(description="Of the article.")]


def repeat_routes(database: Database) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, _of_articles(database), _of_posts(database))
    return routes


def _of_articles(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/articles/{content_id}/repeats", tags=["repeats"])

    @routes.get("", summary="Read the repetitions of an article", responses=UNKNOWN)
    async def get_article_repeats(caller: MayRead, slug: Slug, content_id: ContentId) -> RepeatsView:
        """The rule for all accounts with a post about the article."""
        async with database.connection() as connection:
            return await _shown(connection, caller.check_visible(slug), content_id, "")

    @routes.put("", summary="Set the repetitions of an article", responses=UNKNOWN)
    async def set_article_repeats(
        caller: MayReview, slug: Slug, content_id: ContentId, request: RepeatsRequest
    ) -> RepeatsView:
        """For all present and future accounts of the article. The same request again changes nothing."""
        brand = caller.check_visible(slug)
        async with database.transaction() as tx:
            await store.put_repeat(
                tx.connection, brand, content_id, "", request.model_dump(mode="json"), caller.name
            )
            return await _shown(tx.connection, brand, content_id, "")

    @routes.delete(
        "", summary="Stop the repetitions of an article", status_code=HTTPStatus.NO_CONTENT, responses=UNKNOWN
    )
    async def delete_article_repeats(caller: MayReview, slug: Slug, content_id: ContentId) -> None:
        """Deletes the rule and planned repetitions. Without a rule, the request succeeds, too."""
        brand = caller.check_visible(slug)
        async with database.transaction() as tx:
            await store.delete_repeat(tx.connection, brand, content_id, "")

    return routes


def _of_posts(database: Database) -> APIRouter:
    routes = router("/calendar/{post_id}/repeats", tags=["repeats"])

    @routes.get("", summary="Read the repetitions of a post", responses=UNKNOWN)
    async def get_post_repeats(caller: MayRead, post_id: UUID) -> RepeatsView:
        """The rule for its account only."""
        async with database.connection() as connection:
            return await _shown(connection, *await _place(connection, post_id, caller))

    @routes.put("", summary="Set the repetitions of a post", responses=UNKNOWN)
    async def set_post_repeats(caller: MayReview, post_id: UUID, request: RepeatsRequest) -> RepeatsView:
        """For its account; this rule overrides that of the article. The same request again changes nothing."""
        async with database.transaction() as tx:
            place = await _place(tx.connection, post_id, caller)
            await store.put_repeat(tx.connection, *place, request.model_dump(mode="json"), caller.name)
            return await _shown(tx.connection, *place)

    @routes.delete(
        "", summary="Stop the repetitions of a post", status_code=HTTPStatus.NO_CONTENT, responses=UNKNOWN
    )
    async def delete_post_repeats(caller: MayReview, post_id: UUID) -> None:
        """Deletes the rule and planned repetitions. Without a rule, the request succeeds, too."""
        async with database.transaction() as tx:
            await store.delete_repeat(tx.connection, *await _place(tx.connection, post_id, caller))

    return routes


async def _place(connection: Connection, post_id: UUID, caller: Caller) -> tuple[str, UUID, str]:
    """The brand, article and account of a post."""
    entry = await entries.find(connection, post_id, caller.brands)
    if entry is None or entry.account is None:
        raise UnknownEntryError(post_id)
    return entry.brand_slug, entry.content_id, entry.account


async def _shown(connection: Connection, brand: str, content_id: UUID, account: str) -> RepeatsView:
    stored = await store.find_repeat(connection, brand, content_id, account)
    if stored is None:
        where = f" on {account}" if account else ""
        raise RefusalError(
            codes.NOT_REPEATED,
            f"article {content_id} has no repetitions{where}; PUT to this address sets them",
        )
    return RepeatsView.of(stored)
