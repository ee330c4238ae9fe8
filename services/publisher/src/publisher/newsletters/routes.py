"""`/v1/brands/{slug}/articles/{article}/newsletter`: an article as HTML for mail."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from markupsafe import Markup, escape

from chassis.http.api import UNKNOWN, MayRead, router
from chassis.http.problem_codes import RefusalError
from chassis.http.public.rendering import accent_colour
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher import problem_codes as codes
from publisher import store
from publisher.domain import SLUG_PATTERN, BrandSlug, PageSlug
from publisher.newsletters.styles import SANS, SERIF, with_styles
from publisher.rendering import Renderer
from publisher.site_settings import readable_by_day
from publisher.urls import SiteUrls


def newsletter_routes(database: Database, urls: SiteUrls) -> APIRouter:
    routes = router("/brands/{slug}/articles/{article}/newsletter", tags=["sites"])
    renderer = Renderer(urls)

    @routes.get(
        "",
        summary="An article as HTML for a newsletter",
        response_class=Response,
        responses={
            200: {"description": "One document.", "content": {"text/html": {"schema": {"type": "string"}}}},
            **UNKNOWN,
        },
    )
    async def get_newsletter(
        caller: MayRead,
        slug: Annotated[Slug, Path(description="The brand.")],
        article: Annotated[
            str,
            Path(
                pattern=f"^{SLUG_PATTERN.pattern}$",
                max_length=200,
                description="The last part of its address.",
                examples=["cold-brew"],
            ),
        ],
    ) -> Response:
        """Styles are inline, addresses absolute; the site serves the cover, and nothing tracks readers."""
        brand = BrandSlug(slug)
        async with database.connection() as connection:
            site = await store.site(connection, brand) if caller.may_see(slug) else None
            page = await store.page(connection, brand, PageSlug(article)) if site else None
        if site is None or page is None or page.taken_down_at is not None:
            raise RefusalError(codes.UNKNOWN_ARTICLE, f"{slug} has no article at '{article}'")
        home = urls.at(brand, site.settings.address)
        address = home.absolute(home.article(brand, page.slug))
        accent = readable_by_day(site.accent or accent_colour(brand))

        def styled(body: Markup) -> Markup:
            return Markup(with_styles(body, accent, str(escape(address))))  # noqa: S704 - of the sanitiser, with styles of ours

        look = {"accent": accent, "serif": SERIF, "sans": SANS}
        document = renderer.newsletter(site, page, styled, look)
        # No browser opens it here: callers take the document as it is.
        headers = {
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "private, no-cache",
        }
        return Response(document, media_type="text/html; charset=utf-8", headers=headers)

    return routes
