"""`/v1/brands/{slug}/site/export`: a brand's whole site as an archive of files."""

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from chassis.http.api import UNKNOWN, MayOperate, refusal, router
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher import problem_codes as codes
from publisher import store
from publisher.covers import Covers
from publisher.domain import BrandSlug
from publisher.urls import SiteUrls

_ADDRESS: Final = r"^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?$"
_ZIP: Final = "application/zip"


def export_routes(database: Database, urls: SiteUrls, covers: Covers, *, articles_per_page: int) -> APIRouter:
    routes = router("/brands/{slug}/site/export", tags=["sites"])
    # An export may draw many covers: one export at a time.
    exporting = asyncio.Lock()

    @routes.get(
        "",
        summary="Export a brand's whole site as files",
        response_class=Response,
        responses={
            200: {
                "description": "ZIP: a folder named after the brand; its `index.html` is the front page.",
                "content": {_ZIP: {"schema": {"type": "string", "format": "binary"}}},
            },
            **UNKNOWN,
            **refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Another site is being exported; try again later."),
        },
    )
    async def export_site(
        caller: MayOperate,
        slug: Annotated[Slug, Path(description="The brand.")],
        address: Annotated[
            str | None,
            Query(
                pattern=_ADDRESS,
                max_length=300,
                description="Future address of the files, for canonical addresses, feeds and the site map; default: the addresses of the"
                "site that the publisher serves.",
                examples=["https://example.org/news"],
            ),
        ] = None,
    ) -> Response:
        """Links are relative: the files work from a folder or on any host. The export has no search."""
        brand = BrandSlug(slug)
        none = RefusalError(codes.NO_SITE, f"{slug} has no site; it has one once an article is published")
        if not caller.may_see(slug):
            raise none
        async with database.connection() as connection:
            site = await store.site(connection, brand, with_count=True)
        if site is None:
            raise none
        if exporting.locked():
            raise RefusalError(
                codes.EXPORT_UNDER_WAY,
                "another site is being exported; try again in a minute",
                {"Retry-After": "60"},
            )
        # Loaded on demand: exports are rare.
        from publisher.rendering import Renderer  # noqa: PLC0415
        from publisher.site_export.archive import archive  # noqa: PLC0415
        from publisher.site_export.files import SiteExport  # noqa: PLC0415
        from publisher.site_export.urls import FileUrls  # noqa: PLC0415

        canonical = None
        if address is not None:
            parts = urlsplit(address)
            canonical = FileUrls(f"{parts.scheme}://{parts.netloc.lower()}", parts.path.rstrip("/"), brand)
        files = SiteExport(database, Renderer(urls), covers, articles_per_page, site, canonical)

        async def body() -> AsyncIterator[bytes]:
            async with exporting:
                async for part in archive(files.all(), slug, site.changed_at):
                    yield part

        headers = {"Content-Disposition": f'attachment; filename="{slug}.zip"', "Cache-Control": "no-store"}
        return StreamingResponse(body(), media_type=_ZIP, headers=headers)

    return routes
