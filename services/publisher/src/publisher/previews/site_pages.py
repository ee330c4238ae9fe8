"""`/v1/brands/{slug}/site/page`: a site's first page as it would look with other settings, in one document."""

from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response
from pydantic import ValidationError

from chassis.http.api import UNKNOWN, MayRead, router
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher import logos, site_search, store
from publisher.domain import BrandSlug, PageSlug, Site, SiteSettings
from publisher.rendering import ArticleListPage, Renderer
from publisher.site_settings import SiteChange, settings_of
from publisher.urls import SiteUrls

_SHOWN: Final = 5
_MOST_SETTINGS: Final = 20_000
_NOTHING_TO_SEE: Final = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
"""A transparent picture, in the place of covers."""


@dataclass(frozen=True, slots=True)
class InlineUrls(SiteUrls):
    """The addresses of a page that is shown where the site's pictures cannot be fetched."""

    logo_picture: str = _NOTHING_TO_SEE

    def logo(self, brand: BrandSlug, digest: str) -> str:  # noqa: ARG002 - there is one
        return self.logo_picture

    def cover(self, brand: BrandSlug, slug: PageSlug, file: str) -> str:  # noqa: ARG002 - none is shown
        return _NOTHING_TO_SEE


def site_page_routes(database: Database, urls: SiteUrls) -> APIRouter:
    routes = router("/brands/{slug}/site/page", tags=["sites"])
    renderer = Renderer(urls)

    @routes.get(
        "",
        summary="A site's first page as it would look with other settings",
        response_class=Response,
        responses={
            200: {"description": "One document.", "content": {"text/html": {"schema": {"type": "string"}}}},
            **UNKNOWN,
        },
    )
    async def get_site_page(
        caller: MayRead,
        slug: Annotated[Slug, Path(description="The brand.")],
        settings: Annotated[
            str,
            Query(
                max_length=_MOST_SETTINGS,
                description="A change of the settings, as JSON, as for `PATCH …/site`; nothing is stored.",
                examples=['{"accent": "#1f6154"}'],
            ),
        ] = "",
    ) -> Response:
        """Styles and logo are in the document, so that it can be shown within another page. Covers are left out."""
        brand = BrandSlug(caller.check_visible(slug))
        change = _change(settings)
        async with database.connection() as connection:
            site = await store.site(connection, brand)
            if site is None:
                kept, logo = await settings_of(connection, brand), await logos.logo(connection, brand)
                site = Site(brand, slug, "", "en", datetime.now(UTC), 0, logo, kept or SiteSettings())
            site = site.with_settings(_changed(site.settings, change))
            pages = await store.newest(connection, brand, _SHOWN)
            tags = await site_search.tags_of_site(connection, site)
            picture = await logos.body(connection, brand, site.logo.digest) if site.logo else None
        shown = InlineUrls(urls.origin, urls.prefix, urls.own, _inline(picture))
        document = renderer.with_urls(shown).front_page(site, ArticleListPage(tuple(pages), 1, 1), tags)
        # No browser opens it here: callers take the document as it is.
        headers = {
            "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
            "Cache-Control": "private, no-store",
        }
        return Response(document, media_type="text/html; charset=utf-8", headers=headers)

    return routes


def _change(settings: str) -> SiteChange | None:
    if not settings:
        return None
    try:
        return SiteChange.model_validate_json(settings)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "settings"
        raise RefusalError(INVALID_REQUEST, f"{place}: {first['msg']}") from None


def _changed(settings: SiteSettings, change: SiteChange | None) -> SiteSettings:
    if change is None:
        return settings
    given = change.model_dump(exclude_unset=True)
    kept = settings.model_dump(exclude=set(given))
    return SiteSettings.model_validate(
        {**kept, **{name: value for name, value in given.items() if value is not None}}
    )


def _inline(picture: bytes | None) -> str:
    return _NOTHING_TO_SEE if picture is None else f"data:image/png;base64,{b64encode(picture).decode()}"
