"""The public sites: pages, feeds, site maps. Everything is read-only and open to everybody."""

import re

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from chassis import DatabaseUnavailableError
from chassis.http.conditional import respond
from chassis.http.public.headers import SecurityHeaders
from messaging import Database
from publisher import logos, rendering, store
from publisher.covers import Covers, Format
from publisher.domain import SLUG_PATTERN, BrandSlug, PageSlug, Site, is_slug
from publisher.erasure import is_erased
from publisher.rendering import Listing, Renderer
from publisher.urls import SiteUrls

_FEED_ENTRIES = 20
_MORE_ARTICLES = 3
_MAX_SITES = 1_000
_MAX_SITEMAP_ENTRIES = 49_999  # and the site itself: the protocol's limit is 50,000
_MAX_LISTING_NUMBER = 100_000

_COVER_FILE = re.compile(
    rf"(?P<slug>{SLUG_PATTERN.pattern})-(?P<digest>[0-9a-f]{{16}})\.(?P<format>{'|'.join(Format)})"
)

_DIGEST = re.compile("[0-9a-f]{16}")

_BRIEFLY = "public, max-age=60"
_A_WHILE = "public, max-age=300"
_FOR_EVER = "public, max-age=31536000, immutable"
_HTML = "text/html; charset=utf-8"
_XML = "application/xml; charset=utf-8"
_ATOM = "application/atom+xml; charset=utf-8"
_SVG = "image/svg+xml"


def create_app(
    database: Database, urls: SiteUrls, *, articles_per_page: int, covers: Covers | None = None
) -> Starlette:
    pages = Pages(database, urls, Renderer(urls), articles_per_page, covers or Covers(database))
    app = Starlette(
        routes=[
            Route("/", pages.sites),
            Route("/robots.txt", pages.all_robots),
            Route("/assets/{name}", rendering.ASSETS.serve),
            Route("/sites/{brand}", pages.to_site),
            Route("/sites/{brand}/", pages.index),
            Route("/sites/{brand}/feed.xml", pages.feed),
            Route("/sites/{brand}/sitemap.xml", pages.sitemap),
            Route("/sites/{brand}/robots.txt", pages.robots),
            Route("/sites/{brand}/favicon.svg", pages.icon),
            Route("/sites/{brand}/covers/{file}", pages.cover),
            Route("/sites/{brand}/logo-{digest}.png", pages.logo),
            Route("/sites/{brand}/page/{number}", pages.listing),
            Route("/sites/{brand}/{slug}", pages.article),
            Route("/sites/{brand}/{slug}/", pages.to_article),
        ],
        middleware=[Middleware(SecurityHeaders), Middleware(GZipMiddleware, minimum_size=1024)],
        exception_handlers={
            404: pages.not_found,
            410: pages.erased,
            DatabaseUnavailableError: pages.unavailable,
        },
    )
    # Its address would be made of the Host header, which says what the client likes.
    app.router.redirect_slashes = False
    return app


class Pages:
    def __init__(
        self,
        database: Database,
        urls: SiteUrls,
        renderer: Renderer,
        articles_per_page: int,
        covers: Covers,
    ) -> None:
        self._database = database
        self._urls = urls
        self._renderer = renderer
        self._articles_per_page = articles_per_page
        self._covers = covers

    async def sites(self, request: Request) -> Response:
        async with self._database.connection() as connection:
            sites = await store.sites(connection, _MAX_SITES)
        return respond(request, self._renderer.sites(sites), media_type=_HTML, cache_control=_BRIEFLY)

    async def all_robots(self, request: Request) -> Response:
        async with self._database.connection() as connection:
            sites = await store.sites(connection, _MAX_SITES)
        return respond(request, self._renderer.robots(sites), media_type="text/plain", cache_control=_A_WHILE)

    async def to_site(self, request: Request) -> Response:
        return RedirectResponse(self._urls.site(_brand(request)), status_code=308)

    async def to_article(self, request: Request) -> Response:
        return RedirectResponse(self._urls.article(_brand(request), _slug(request)), status_code=308)

    async def index(self, request: Request) -> Response:
        return await self._list(request, 1)

    async def listing(self, request: Request) -> Response:
        number = _number(request.path_params["number"])
        if number == 1:
            return RedirectResponse(self._urls.site(_brand(request)), status_code=308)
        return await self._list(request, number)

    async def _list(self, request: Request, number: int) -> Response:
        site = await self._site(request)
        total = max(1, -(-site.pages // self._articles_per_page))
        if not 1 <= number <= min(total, _MAX_LISTING_NUMBER):
            raise HTTPException(404)
        offset = (number - 1) * self._articles_per_page
        async with self._database.connection() as connection:
            pages = await store.newest(connection, site.brand_slug, self._articles_per_page, offset)
        body = self._renderer.index(site, Listing(tuple(pages), number, total))
        return respond(request, body, media_type=_HTML, last_modified=site.changed_at, cache_control=_BRIEFLY)

    async def article(self, request: Request) -> Response:
        site, slug = await self._site(request), _slug(request)
        async with self._database.connection() as connection:
            page = await store.page(connection, site.brand_slug, slug)
            former = None if page else await store.former(connection, site.brand_slug, slug)
            newest = await store.newest(connection, site.brand_slug, _MORE_ARTICLES + 1) if page else []
        if former is not None and former.moved_to is not None:
            return _moved(self._urls.article(site.brand_slug, former.moved_to))
        if page is None and former is None:
            raise HTTPException(404)
        if page is None or page.taken_down_at is not None:
            return HTMLResponse(
                self._renderer.gone(site), status_code=410, headers={"Cache-Control": _BRIEFLY}
            )
        more = [other for other in newest if other.slug != slug][:_MORE_ARTICLES]
        body = self._renderer.article(site, page, more)
        return respond(request, body, media_type=_HTML, last_modified=site.changed_at, cache_control=_BRIEFLY)

    async def cover(self, request: Request) -> Response:
        brand, file = _brand(request), _COVER_FILE.fullmatch(request.path_params["file"])
        if file is None:
            raise HTTPException(404)
        slug, format_ = PageSlug(file["slug"]), Format(file["format"])
        picture = await self._covers.picture(brand, slug, file["digest"], format_)
        if picture is None:
            async with self._database.connection() as connection:
                former = await store.former(connection, brand, slug)
            if former is None or former.moved_to is None:
                raise HTTPException(404)
            return _moved(self._urls.cover(brand, former.moved_to, f"{file['digest']}.{format_.value}"))
        response = respond(request, picture, media_type=format_.media_type, cache_control=_FOR_EVER)
        # Links are shared elsewhere: their pictures are shown there.
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return response

    async def logo(self, request: Request) -> Response:
        brand, digest = _brand(request), request.path_params["digest"]
        if _DIGEST.fullmatch(digest) is None:
            raise HTTPException(404)
        async with self._database.connection() as connection:
            body = await logos.body(connection, brand, digest)
            logo = None if body else await logos.logo(connection, brand)
        if body is None:
            if logo is None:
                raise HTTPException(404)
            # Pages that were kept somewhere name the one before.
            headers = {"Cache-Control": _BRIEFLY}
            return RedirectResponse(self._urls.logo(brand, logo.digest), status_code=307, headers=headers)
        return respond(request, body, media_type="image/png", cache_control=_FOR_EVER)

    async def feed(self, request: Request) -> Response:
        site = await self._site(request)
        async with self._database.connection() as connection:
            pages = await store.newest_in_full(connection, site.brand_slug, _FEED_ENTRIES)
        body = self._renderer.feed(site, pages)
        return respond(request, body, media_type=_ATOM, last_modified=site.changed_at, cache_control=_A_WHILE)

    async def sitemap(self, request: Request) -> Response:
        site = await self._site(request)
        async with self._database.connection() as connection:
            pages = await store.newest(connection, site.brand_slug, _MAX_SITEMAP_ENTRIES)
        body = self._renderer.sitemap(site, pages)
        return respond(request, body, media_type=_XML, last_modified=site.changed_at, cache_control=_A_WHILE)

    async def robots(self, request: Request) -> Response:
        site = await self._site(request)
        body = self._renderer.robots([site])
        return respond(request, body, media_type="text/plain", cache_control=_A_WHILE)

    async def icon(self, request: Request) -> Response:
        site = await self._site(request)
        return respond(request, self._renderer.icon(site), media_type=_SVG, cache_control=_A_WHILE)

    async def not_found(self, request: Request, _error: Exception) -> Response:
        try:
            site = await self._find_site(request)
        except DatabaseUnavailableError:
            site = None
        return HTMLResponse(self._renderer.not_found(site), status_code=404)

    async def erased(self, _request: Request, _error: Exception) -> Response:
        return HTMLResponse(
            self._renderer.not_found(None), status_code=410, headers={"Cache-Control": _BRIEFLY}
        )

    async def unavailable(self, _request: Request, _error: Exception) -> Response:
        headers = {"Retry-After": "30", "Cache-Control": "no-store"}
        return HTMLResponse(self._renderer.unavailable(), status_code=503, headers=headers)

    async def _site(self, request: Request) -> Site:
        site = await self._find_site(request)
        if site is None:
            raise HTTPException(await self._status_without_site(request))
        return site

    async def _status_without_site(self, request: Request) -> int:
        brand = request.path_params.get("brand", "")
        if not is_slug(brand):
            return 404
        async with self._database.connection() as connection:
            return 410 if await is_erased(connection, brand) else 404

    async def _find_site(self, request: Request) -> Site | None:
        brand = request.path_params.get("brand", "")
        if not is_slug(brand):
            return None
        async with self._database.connection() as connection:
            return await store.site(connection, BrandSlug(brand))


def _moved(address: str) -> Response:
    # For good, and yet not kept for long: a page may move back.
    return RedirectResponse(address, status_code=301, headers={"Cache-Control": _A_WHILE})


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_LISTING_NUMBER))):
        raise HTTPException(404)
    return int(text)


def _brand(request: Request) -> BrandSlug:
    # Only text of this form may reach a Location header or a statement.
    if not is_slug(request.path_params["brand"]):
        raise HTTPException(404)
    return BrandSlug(request.path_params["brand"])


def _slug(request: Request) -> PageSlug:
    if not is_slug(request.path_params["slug"]):
        raise HTTPException(404)
    return PageSlug(request.path_params["slug"])
