"""The files of a site that programs read: feeds, site maps, robots.txt, its icon and the key for search engines."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.conditional import respond
from publisher import site_search, sitemaps, store
from publisher.domain import ArticlePage, Site
from publisher.indexnow import key_of
from publisher.page_cache import CachedAnswer
from publisher.rendering import Renderer
from publisher.replica import PageDatabase
from publisher.site_requests import SiteRequests, brand_of, number_of

_FEED_ENTRIES: Final = 20
_BRIEFLY: Final = "public, max-age=60"
_A_WHILE: Final = "public, max-age=300"
_XML: Final = "application/xml; charset=utf-8"
_RSS: Final = "application/rss+xml; charset=utf-8"
_ATOM: Final = "application/atom+xml; charset=utf-8"
_SVG: Final = "image/svg+xml"


class SiteFiles:
    def __init__(self, database: PageDatabase, requests: SiteRequests) -> None:
        self._database = database
        self._requests = requests

    async def feed(self, request: Request) -> Response:
        return await self._requests.kept(request, "feed", partial(self._feed, request, Renderer.feed, _ATOM))

    async def rss(self, request: Request) -> Response:
        return await self._requests.kept(request, "rss", partial(self._feed, request, Renderer.rss, _RSS))

    async def _feed(
        self,
        request: Request,
        render: Callable[[Renderer, Site, Sequence[ArticlePage]], str],
        media_type: str,
    ) -> CachedAnswer:
        site = await self._requests.site(request)
        async with self._database.connection() as connection:
            pages = await store.newest_in_full(connection, site.brand_slug, _FEED_ENTRIES)
        return _machine_readable(render(self._requests.renderer(request), site, pages), site, media_type)

    async def sitemap(self, request: Request) -> Response:
        return await self._requests.kept(request, "sitemap", partial(self._sitemap, request))

    async def _sitemap(self, request: Request) -> CachedAnswer:
        site, renderer = await self._requests.site(request, with_count=True), self._requests.renderer(request)
        parts = sitemaps.parts_of(site.pages)
        if parts > 1:
            return _machine_readable(renderer.sitemap_of_parts(site, parts), site, _XML)
        async with self._database.connection() as connection:
            pages = await store.newest(connection, site.brand_slug, sitemaps.ENTRIES)
            tags = await site_search.tags_of_site(connection, site)
        return _machine_readable(renderer.sitemap(site, pages, tags), site, _XML)

    async def sitemap_part(self, request: Request) -> Response:
        part = number_of(request.path_params["part"])
        if part < 1:
            raise HTTPException(404)
        return await self._requests.kept(
            request, ("sitemap", part), partial(self._sitemap_part, request, part)
        )

    async def _sitemap_part(self, request: Request, part: int) -> CachedAnswer:
        site, has_home = await self._requests.site(request), part == 1
        offset = (part - 1) * sitemaps.ENTRIES
        async with self._database.connection() as connection:
            pages = await store.oldest(connection, site.brand_slug, sitemaps.ENTRIES, offset)
            tags = await site_search.tags_of_site(connection, site) if has_home else []
        if not pages and not has_home:
            raise HTTPException(404)
        text = self._requests.renderer(request).sitemap(site, pages, tags, has_home=has_home)
        return _machine_readable(text, site, _XML)

    async def robots(self, request: Request) -> Response:
        site = await self._requests.site(request)
        body = self._requests.renderer(request).robots([site])
        return respond(request, body, media_type="text/plain", cache_control=_A_WHILE)

    async def icon(self, request: Request) -> Response:
        site = await self._requests.site(request)
        return respond(
            request, self._requests.renderer(request).icon(site), media_type=_SVG, cache_control=_A_WHILE
        )

    async def engine_key(self, request: Request) -> Response:
        brand = brand_of(request)
        async with self._database.connection() as connection:
            key = await key_of(connection, brand)
        if key is None or key != request.path_params["key"]:
            raise HTTPException(404)
        return respond(request, key, media_type="text/plain", cache_control=_BRIEFLY)


def _machine_readable(text: str, site: Site, media_type: str) -> CachedAnswer:
    return CachedAnswer.build(
        text, media_type=media_type, last_modified=site.changed_at, headers={"Cache-Control": _A_WHILE}
    )
