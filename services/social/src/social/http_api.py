"""The public feeds, as pages and Atom: read-only and without authentication."""

import re
from uuid import UUID

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from chassis import DatabaseUnavailableError
from chassis.http.conditional import respond
from chassis.http.headers import SafeHeaders
from chassis.http.public import SECURITY_HEADERS
from envelope.brand.payloads import SLUG_PATTERN
from messaging import Database
from social import rendering, store
from social.domain import BrandSlug
from social.rendering import FeedRenderer
from social.sending import addresses_elsewhere
from social.store import Feed
from social.urls import FeedUrls

_MAX_FEEDS = 1_000
_ATOM_ENTRIES = 30
_SLUG = re.compile(SLUG_PATTERN)

_BRIEFLY = "public, max-age=30"
_HTML = "text/html; charset=utf-8"
_ATOM = "application/atom+xml; charset=utf-8"


def create_app(database: Database, urls: FeedUrls, *, posts_per_page: int) -> Starlette:
    pages = FeedPages(database, urls, FeedRenderer(urls), posts_per_page)
    app = Starlette(
        routes=[
            Route("/", pages.feeds),
            Route("/assets/{name}", rendering.ASSETS.serve),
            Route("/feeds/{brand}", pages.feed),
            Route("/feeds/{brand}/", pages.to_feed),
            Route("/feeds/{brand}/feed.xml", pages.atom),
            Route("/feeds/{brand}/{post_id}", pages.post),
        ],
        middleware=[
            Middleware(SafeHeaders, headers=SECURITY_HEADERS),
            Middleware(GZipMiddleware, minimum_size=1024),
        ],
        exception_handlers={404: pages.not_found, DatabaseUnavailableError: pages.unavailable},
    )
    # Such a redirect would use the Host header, which the client controls.
    app.router.redirect_slashes = False
    return app


class FeedPages:
    def __init__(
        self, database: Database, urls: FeedUrls, renderer: FeedRenderer, posts_per_page: int
    ) -> None:
        self._database = database
        self._urls = urls
        self._renderer = renderer
        self._posts_per_page = posts_per_page

    async def feeds(self, request: Request) -> Response:
        async with self._database.connection() as connection:
            feeds = await store.feeds(connection, _MAX_FEEDS)
        return respond(request, self._renderer.feeds(feeds), media_type=_HTML, cache_control=_BRIEFLY)

    async def to_feed(self, request: Request) -> Response:
        # Only text of this form may reach a Location header.
        if not _SLUG.fullmatch(request.path_params["brand"]):
            raise HTTPException(404)
        return RedirectResponse(self._urls.feed(request.path_params["brand"]), status_code=308)

    async def feed(self, request: Request) -> Response:
        feed = await self._feed(request)
        before = request.query_params.get("before")
        after = None if before is None else _uuid(before)
        async with self._database.connection() as connection:
            posts = await store.newest(connection, feed.brand_slug, self._posts_per_page + 1, before=after)
            count = await store.count(connection, feed.brand_slug)
        if not posts:
            raise HTTPException(404)
        body = self._renderer.feed(
            feed,
            posts[: self._posts_per_page],
            count,
            is_first=after is None,
            has_more=len(posts) > self._posts_per_page,
        )
        return respond(request, body, media_type=_HTML, cache_control=_BRIEFLY)

    async def post(self, request: Request) -> Response:
        feed = await self._feed(request)
        async with self._database.connection() as connection:
            stored = await store.post(connection, feed.brand_slug, _uuid(request.path_params["post_id"]))
            if stored is None:
                raise HTTPException(404)
            elsewhere = await addresses_elsewhere(connection, stored.post.content_id)
        body = self._renderer.post(feed, stored, elsewhere)
        return respond(request, body, media_type=_HTML, cache_control=_BRIEFLY)

    async def atom(self, request: Request) -> Response:
        feed = await self._feed(request)
        async with self._database.connection() as connection:
            posts = await store.newest(connection, feed.brand_slug, _ATOM_ENTRIES)
        return respond(request, self._renderer.atom(feed, posts), media_type=_ATOM, cache_control=_BRIEFLY)

    async def not_found(self, request: Request, _error: Exception) -> Response:
        try:
            feed = await self._find_feed(request)
        except DatabaseUnavailableError:
            feed = None
        return HTMLResponse(self._renderer.not_found(feed), status_code=404)

    async def unavailable(self, _request: Request, _error: Exception) -> Response:
        headers = {"Retry-After": "30", "Cache-Control": "no-store"}
        return HTMLResponse(self._renderer.unavailable(), status_code=503, headers=headers)

    async def _feed(self, request: Request) -> Feed:
        feed = await self._find_feed(request)
        if feed is None:
            raise HTTPException(404)
        return feed

    async def _find_feed(self, request: Request) -> Feed | None:
        brand = request.path_params.get("brand", "")
        if not _SLUG.fullmatch(brand):
            return None
        async with self._database.connection() as connection:
            return await store.feed(connection, BrandSlug(brand))


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise HTTPException(404) from None
