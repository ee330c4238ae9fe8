"""Requests about brands, and the brand in the path of other requests."""

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from http import HTTPStatus
from typing import Annotated, TypeAlias

from fastapi import APIRouter, HTTPException, Path, Response

from chassis import Connection
from chassis.http.api import ETAG, READ, UNKNOWN, IfNoneMatch, MayOperate, MayRead, conditional, router
from chassis.http.callers import Caller
from chassis.http.conditional import entity_tag
from messaging import Database
from orchestrator.answers import LOCATION
from orchestrator.brands.domain import (
    MAX_SLUG,
    SLUG_PATTERN,
    BrandSlug,
    UnknownBrandError,
    UnwritableError,
    check_writer,
    is_slug,
)
from orchestrator.brands.models import Agent, BrandDetails, BrandRequest
from orchestrator.brands.store import Brand, find_brand, upsert_brand

AgentOf: TypeAlias = Callable[[Connection, Brand], Awaitable[Agent]]

Slug = Annotated[
    str,
    Path(
        description=f"Lower-case letters and digits, joined by single hyphens, at most {MAX_SLUG} characters.",
        examples=["daily-grind"],
        json_schema_extra={"pattern": SLUG_PATTERN, "maxLength": MAX_SLUG},
    ),
]


def seen_slug(slug: str, caller: Caller) -> BrandSlug:
    """The slug of a path, for a caller who may see such a brand; whether there is one is still to be looked up.

    Raises:
        HTTPException: 422 if no brand can be called so.
        UnknownBrandError: the caller is bound to others.
    """
    if not is_slug(slug):
        raise HTTPException(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"the brand's slug must be lower-case letters and digits, joined by single hyphens, at most {MAX_SLUG} "
            "characters, such as 'daily-grind'",
        )
    # Nothing is looked up, so not even the time that the answer takes tells whether there is one.
    if not caller.may_see(slug):
        raise UnknownBrandError(slug)
    return BrandSlug(slug)


def _own_slug(slug: str, caller: Caller) -> BrandSlug:
    try:
        return seen_slug(slug, caller)
    except UnknownBrandError:
        # The same for a brand that there is and for one that there is not.
        raise HTTPException(
            HTTPStatus.FORBIDDEN, f"your key is for other brands than '{slug}'; use one that is bound to none"
        ) from None


def brand_routes(database: Database, writers: AbstractSet[str], agent_of: AgentOf) -> APIRouter:
    """`writers` are those that this process has; `agent_of` tells how a brand fares."""
    routes = router(tags=["brands"])

    @routes.put(
        "/brands/{slug}",
        summary="Create or replace a brand",
        responses={
            200: {"headers": ETAG, "description": "The brand existed and is now as given."},
            201: {"model": BrandDetails, "headers": LOCATION | ETAG, "description": "The brand is new."},
        },
    )
    async def put_brand(
        caller: MayOperate, slug: Slug, request: BrandRequest, response: Response
    ) -> BrandDetails:
        """Sending the same again changes nothing. Cycles that run keep the channels and target they began with."""
        checked = _own_slug(slug, caller)
        try:
            check_writer(request.writer, request.language, writers)
        except UnwritableError as error:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
        async with database.transaction() as tx:
            brand, is_new = await upsert_brand(tx.connection, slug=checked, **request.model_dump())
            view = BrandDetails.of_agent(brand, await agent_of(tx.connection, brand))
        if is_new:
            response.status_code = HTTPStatus.CREATED
            response.headers["Location"] = f"/v1/brands/{slug}"
        response.headers["ETag"] = entity_tag(view.model_dump_json())
        return view

    @routes.get(
        "/brands/{slug}",
        summary="Read a brand",
        response_model=BrandDetails,
        responses={**READ, **UNKNOWN},
    )
    async def get_brand(caller: MayRead, slug: Slug, if_none_match: IfNoneMatch = None) -> Response:
        async with database.connection() as connection:
            brand = await find_brand(connection, seen_slug(slug, caller))
            if brand is None:
                raise UnknownBrandError(slug)
            view = BrandDetails.of_agent(brand, await agent_of(connection, brand))
        return conditional(view.model_dump_json(), if_none_match)

    return routes
