"""HTTP routes for post activity."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from chassis.http.api import READ, IfNoneMatch, MayRead, Moment, conditional, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from envelope.brand.payloads import MAX_BRAND_SLUG, SLUG_PATTERN
from messaging import Database
from social.activity import store
from social.activity.models import ActivityList, BrandActivity


def activity_routes(database: Database) -> APIRouter:
    routes = router(tags=["posts"])

    @routes.get("/activity", summary="List post activity", response_model=ActivityList, responses=READ)
    async def list_activity(
        caller: MayRead,
        since: Annotated[
            Moment, Query(description="Count posts that went out, or were due, from this time on.")
        ],
        after: Annotated[
            str,
            Query(
                pattern=f"^$|{SLUG_PATTERN}",
                max_length=MAX_BRAND_SLUG,
                description="`next` of the page before.",
            ),
        ] = "",
        limit: PageLimit = DEFAULT_PAGE,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """For each channel of each brand: posts out and failed since a time, and waiting posts; brands by slug."""
        async with database.connection() as connection:
            found = await store.activity(
                connection, slugs=caller.brands, after=after, limit=limit + 1, since=since
            )
        page = found[:limit]
        answer = ActivityList(
            items=tuple(BrandActivity.model_validate(each) for each in page),
            next=page[-1]["brand_slug"] if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    return routes
