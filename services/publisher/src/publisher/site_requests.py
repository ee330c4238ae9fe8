"""What the answers to visitors have in common: the site that a request names, its addresses, and answers that are kept."""

from collections.abc import Awaitable, Callable, Hashable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from publisher import store
from publisher.domain import BrandSlug, PageSlug, Site, is_slug
from publisher.erasure import is_erased
from publisher.page_cache import CachedAnswer, PageCache, SiteVersions
from publisher.rendering import Renderer
from publisher.replica import PageDatabase
from publisher.site_settings import URLS
from publisher.urls import SiteUrls

MAX_NUMBER = 100_000
"""The last page of a list that has an address."""


def urls_of(request: Request) -> SiteUrls:
    """The addresses as this visitor sees them."""
    urls: SiteUrls = request.scope[URLS]
    return urls


def number_of(text: str) -> int:
    """A number from a path. Raises HTTPException (404): it is none, or above `MAX_NUMBER`'s digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_NUMBER))):
        raise HTTPException(404)
    return int(text)


def brand_of(request: Request) -> BrandSlug:
    """The brand of the path. Raises HTTPException (404): a Location header or a statement takes text of this form only."""
    if not is_slug(request.path_params["brand"]):
        raise HTTPException(404)
    return BrandSlug(request.path_params["brand"])


def slug_of(request: Request) -> PageSlug:
    """The article of the path; see `brand_of`."""
    if not is_slug(request.path_params["slug"]):
        raise HTTPException(404)
    return PageSlug(request.path_params["slug"])


class SiteRequests:
    """Finds the sites that requests name, and keeps answers in `cache`."""

    def __init__(self, database: PageDatabase, renderer: Renderer, cache: PageCache) -> None:
        self._database = database
        self._renderer = renderer
        self._cache = cache
        self._versions = SiteVersions(database)

    def renderer(self, request: Request) -> Renderer:
        return self._renderer.with_urls(urls_of(request))

    async def site(self, request: Request, *, with_count: bool = False) -> Site:
        """The site of the path. Raises HTTPException: 404, or 410 if its brand was erased."""
        site = await self.find_site(request, with_count=with_count)
        if site is None:
            raise HTTPException(await self._status_without_site(request))
        return site

    async def find_site(self, request: Request, *, with_count: bool = False) -> Site | None:
        brand = request.path_params.get("brand", "")
        if not is_slug(brand):
            return None
        async with self._database.connection() as connection:
            return await store.site(connection, BrandSlug(brand), with_count=with_count)

    async def kept(
        self, request: Request, what: Hashable, build: Callable[[], Awaitable[CachedAnswer]]
    ) -> Response:
        """Answers with `what` lists a site's articles; it is built anew after each change to the site alone.

        Raises:
            HTTPException: as `site`.
        """
        brand = request.path_params["brand"]
        version = await self._versions.get(BrandSlug(brand)) if is_slug(brand) else None
        if version is None:
            raise HTTPException(await self._status_without_site(request))
        # No article has a tuple for its slug.
        place = urls_of(request), brand, ("list", what)
        answer = self._cache.get(place, version)
        if answer is None:
            answer = await build()
            self._cache.put(place, version, answer)
        return answer.respond(request)

    async def _status_without_site(self, request: Request) -> int:
        brand = request.path_params.get("brand", "")
        if not is_slug(brand):
            return 404
        async with self._database.connection() as connection:
            return 410 if await is_erased(connection, brand) else 404
