"""Requests about what is posted again: one post, or an article wherever it was posted."""

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
from social.calendar.routes import seen
from social.calendar.slot_routes import Slug

ContentId = Annotated[UUID, Path(description="Of the article.")]


def repeat_routes(database: Database) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, _of_articles(database), _of_posts(database))
    return routes


def _of_articles(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/articles/{content_id}/repeats", tags=["repeats"])

    @routes.get("", summary="Read how an article is posted again", responses=UNKNOWN)
    async def get_article_repeats(caller: MayRead, slug: Slug, content_id: ContentId) -> RepeatsView:
        """On each account where it was posted."""
        async with database.connection() as connection:
            return await _shown(connection, seen(caller, slug), content_id, "")

    @routes.put("", summary="Have an article posted again", responses=UNKNOWN)
    async def set_article_repeats(
        caller: MayReview, slug: Slug, content_id: ContentId, request: RepeatsRequest
    ) -> RepeatsView:
        """On each account where it was posted, or will be. The same again changes nothing."""
        brand = seen(caller, slug)
        async with database.transaction() as tx:
            await store.put_repeat(
                tx.connection, brand, content_id, "", request.model_dump(mode="json"), caller.name
            )
            return await _shown(tx.connection, brand, content_id, "")

    @routes.delete(
        "", summary="Have an article posted no more", status_code=HTTPStatus.NO_CONTENT, responses=UNKNOWN
    )
    async def delete_article_repeats(caller: MayReview, slug: Slug, content_id: ContentId) -> None:
        """Repetitions that are planned are taken out. Removing what is not there is no error."""
        brand = seen(caller, slug)
        async with database.transaction() as tx:
            await store.delete_repeat(tx.connection, brand, content_id, "")

    return routes


def _of_posts(database: Database) -> APIRouter:
    routes = router("/calendar/{post_id}/repeats", tags=["repeats"])

    @routes.get("", summary="Read how a post is made again", responses=UNKNOWN)
    async def get_post_repeats(caller: MayRead, post_id: UUID) -> RepeatsView:
        """On its account alone."""
        async with database.connection() as connection:
            return await _shown(connection, *await _place(connection, post_id, caller))

    @routes.put("", summary="Have a post made again", responses=UNKNOWN)
    async def set_post_repeats(caller: MayReview, post_id: UUID, request: RepeatsRequest) -> RepeatsView:
        """On its account, whatever holds for its article elsewhere. The same again changes nothing."""
        async with database.transaction() as tx:
            place = await _place(tx.connection, post_id, caller)
            await store.put_repeat(tx.connection, *place, request.model_dump(mode="json"), caller.name)
            return await _shown(tx.connection, *place)

    @routes.delete(
        "", summary="Have a post made no more", status_code=HTTPStatus.NO_CONTENT, responses=UNKNOWN
    )
    async def delete_post_repeats(caller: MayReview, post_id: UUID) -> None:
        """Repetitions that are planned are taken out. Removing what is not there is no error."""
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
            f"article {content_id} is not posted again{where}; PUT to this address has it so",
        )
    return RepeatsView.of(stored)
