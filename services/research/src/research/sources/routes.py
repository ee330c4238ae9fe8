"""`/v1/brands/{slug}/sources`: read and replace the source settings of a brand."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from chassis.http.api import READ, UNKNOWN, IfNoneMatch, MayOperate, MayRead, conditional, router
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug
from messaging import Database
from research import problem_codes as codes
from research.sources import store
from research.sources.domain import SourceSettings

Slug = Annotated[
    BrandSlug,
    Path(description="Slug of the brand at the orchestrator.", examples=["daily-grind"]),
]


def source_routes(database: Database, *, has_gateway: bool) -> APIRouter:
    """Build the routes. `has_gateway`: whether this process can read the web."""
    routes = router("/brands", tags=["sources"])

    @routes.get(
        "/{slug}/sources",
        summary="Show the source settings of a brand",
        response_model=SourceSettings,
        responses={**READ, **UNKNOWN},
    )
    async def get_sources(caller: MayRead, slug: Slug, if_none_match: IfNoneMatch = None) -> Response:
        """A brand without settings of its own has the folder alone."""
        caller.check_visible(slug)
        async with database.connection() as connection:
            sources = await store.sources_of(connection, slug)
        return conditional(sources.model_dump_json(), if_none_match)

    @routes.put("/{slug}/sources", summary="Replace the source settings of a brand", responses=UNKNOWN)
    async def set_sources(caller: MayOperate, slug: Slug, sources: SourceSettings) -> SourceSettings:
        """Replaces all settings; the same settings again change nothing. Research with other settings is not reused."""
        caller.check_visible(slug)
        if sources.uses_web and not has_gateway:
            raise RefusalError(
                codes.GATEWAY_NOT_CONFIGURED,
                "web, urls and feeds need a gateway, and research has none: set its GATEWAY_URL and restart it",
            )
        async with database.transaction() as tx:
            await store.set_sources(tx.connection, slug, sources)
        return sources

    return routes
