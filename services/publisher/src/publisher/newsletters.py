"""An article as HTML for mail programs: `/v1/brands/{slug}/articles/{article}/newsletter`.

Mail programs drop stylesheets and scripts, so all styles are inline, in one column.
"""

import re
from typing import Annotated, Final

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
from publisher.rendering import Renderer
from publisher.site_settings import readable_by_day
from publisher.urls import SiteUrls

SERIF: Final = "Charter,Cambria,Georgia,serif"
SANS: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_TEXT: Final = f"font:17px/1.6 {SERIF};color:#23211d"
_STYLES: Final = {
    "p": f"margin:0 0 16px;{_TEXT}",
    "h2": f"margin:32px 0 12px;font:700 23px/1.25 {SERIF};color:#23211d",
    "h3": f"margin:26px 0 10px;font:700 19px/1.3 {SERIF};color:#23211d",
    "h4": f"margin:22px 0 8px;font:700 17px/1.3 {SERIF};color:#23211d",
    "ul": "margin:0 0 16px;padding-left:24px",
    "ol": "margin:0 0 16px;padding-left:24px",
    "li": f"margin:0 0 6px;{_TEXT}",
    "blockquote": "margin:0 0 16px;padding-left:16px;border-left:2px solid #dcd7cc",
    "pre": "margin:0 0 16px;padding:12px;background:#f3f0e9;white-space:pre-wrap;word-break:break-word",
    "code": "font:14px/1.5 Menlo,Consolas,monospace",
    "table": "margin:0 0 16px;border-collapse:collapse",
    "th": f"padding:6px 10px;border:1px solid #dcd7cc;text-align:left;font:700 15px/1.4 {SANS}",
    "td": f"padding:6px 10px;border:1px solid #dcd7cc;font:15px/1.4 {SANS}",
    "hr": "border:0;border-top:1px solid #dcd7cc;margin:32px 0",
}
_OPENING: Final = re.compile(rf"<({'|'.join(_STYLES)}|a)(?=[ >])")
_ANCHOR: Final = re.compile(r' (?:id|class|aria-label)="[^"]*"')
_WITHIN: Final = re.compile(r'href="#')


def with_styles(html: str, accent: str, page: str) -> str:
    """Adds styles to sanitised HTML of an article; links within the page get `page`, its address."""

    def styled(match: re.Match[str]) -> str:
        style = f"color:{accent}" if match[1] == "a" else _STYLES[match[1]]
        return f'<{match[1]} style="{style}"'

    return _OPENING.sub(styled, _WITHIN.sub(f'href="{page}#', _in_tags(html)))


def _in_tags(html: str) -> str:
    """Removes ids and classes, which only work with the page and its stylesheet."""
    return re.sub(r"<[^>]*>", lambda tag: _ANCHOR.sub("", tag[0]), html)


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
