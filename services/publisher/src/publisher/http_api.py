"""The public sites and their pages; `site_files` has feeds and site maps. Read-only, without authentication."""

import re
from collections.abc import Sequence
from functools import partial

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
from chassis.http.public import CONTENT_SECURITY_POLICY, SECURITY_HEADERS
from messaging import Database
from publisher import logos, rendering, site_search, store
from publisher.covers import Covers, Format
from publisher.domain import SLUG_PATTERN, BrandSlug, PageSlug, Site, clean_line, is_slug, tag_slug
from publisher.mailing import SubscriptionPages
from publisher.page_cache import CachedAnswer, PageCache, PageVersions
from publisher.previews import DraftReader, PreviewPages
from publisher.rendering import ArticleListPage, Renderer
from publisher.replica import PageDatabase
from publisher.short_links import LinkClickCounter, ShortLinkRedirector
from publisher.site_files import SiteFiles
from publisher.site_requests import MAX_NUMBER, SiteRequests, brand_of, number_of, slug_of, urls_of
from publisher.site_settings import CustomHostMiddleware, own_stylesheet
from publisher.urls import TAKEN, SiteUrls
from publisher.views import PageViewCounter

_MAX_WANTED = 100
_MOST_FOUND = 20
_MAX_SITES = 1_000

_COVER_FILE = re.compile(
    rf"(?P<slug>{SLUG_PATTERN.pattern})-(?P<digest>[0-9a-f]{{16}})\.(?P<format>{'|'.join(Format)})"
)

_DIGEST = re.compile("[0-9a-f]{16}")

_BRIEFLY = "public, max-age=60"
_A_WHILE = "public, max-age=300"
_FOR_THIS_READER = "private, max-age=60"
_FOR_EVER = "public, max-age=31536000, immutable"
_HTML = "text/html; charset=utf-8"
_CSS = "text/css; charset=utf-8"


def create_app(
    database: Database,
    urls: SiteUrls,
    *,
    articles_per_page: int,
    covers: Covers | None = None,
    views: PageViewCounter | None = None,
    clicks: LinkClickCounter | None = None,
    drafts: DraftReader | None = None,
    sign_ups_per_hour: int = 100,
    proxies: Sequence[str] = (),
    pages_from: PageDatabase | None = None,
) -> Starlette:
    """The web application of all sites; without `drafts`, it shows no previews.

    `pages_from`: a standby to read sites, pages, feeds and site maps from. What has to be current is read from `database`.
    """
    covers, reading = covers or Covers(database), pages_from or database
    renderer = Renderer(urls)
    cache = PageCache()
    requests = SiteRequests(reading, renderer, cache)
    pages = SitePages(reading, renderer, articles_per_page, covers, views, requests, cache)
    files = SiteFiles(reading, requests)
    short_links = ShortLinkRedirector(database, urls, clicks)
    previews = PreviewPages(database, drafts, renderer, urls) if drafts else None
    subscriptions = SubscriptionPages(database, renderer, sign_ups_per_hour, proxies)
    app = Starlette(
        routes=[
            *([Route("/preview/{word}", previews.show)] if previews else []),
            Route("/", pages.sites),
            Route("/s/{code}", short_links.redirect),
            Route("/sites/{brand}/s/{code}", short_links.redirect),
            Route("/robots.txt", pages.all_robots),
            Route("/assets/{name}", rendering.ASSETS.serve),
            Route("/sites/{brand}", pages.to_site),
            Route("/sites/{brand}/", pages.index),
            Route("/sites/{brand}/feed.xml", files.feed),
            Route("/sites/{brand}/rss.xml", files.rss),
            Route("/sites/{brand}/search/", pages.search),
            Route("/sites/{brand}/tags/{tag}", pages.tag),
            Route("/sites/{brand}/tags/{tag}/page/{number}", pages.tag),
            Route("/sites/{brand}/authors/{author}", pages.author),
            Route("/sites/{brand}/sitemap.xml", files.sitemap),
            Route("/sites/{brand}/sitemap-{part}.xml", files.sitemap_part),
            Route("/sites/{brand}/robots.txt", files.robots),
            Route("/sites/{brand}/favicon.svg", files.icon),
            Route("/sites/{brand}/{key}.txt", files.engine_key),
            Route("/sites/{brand}/covers/{file}", pages.cover),
            Route("/sites/{brand}/logo-{digest}.png", pages.logo),
            Route("/sites/{brand}/look-{digest}.css", pages.look),
            Route("/sites/{brand}/newsletter/", subscriptions.form, methods=["GET", "POST"]),
            Route("/sites/{brand}/newsletter/sent", subscriptions.sent),
            Route("/sites/{brand}/newsletter/confirm/{word}", subscriptions.confirm, methods=["GET", "POST"]),
            Route("/sites/{brand}/newsletter/leave/{word}", subscriptions.leave, methods=["GET", "POST"]),
            Route("/sites/{brand}/page/{number}", pages.listing),
            Route("/sites/{brand}/articles/{slug}", pages.reserved_article),
            Route("/sites/{brand}/{slug}", pages.article),
            Route("/sites/{brand}/{slug}/", pages.to_article),
        ],
        middleware=[
            Middleware(SafeHeaders, headers=SECURITY_HEADERS),
            Middleware(GZipMiddleware, minimum_size=1024),
            Middleware(CustomHostMiddleware, database=reading, urls=urls, unavailable=pages.unavailable),
        ],
        exception_handlers={
            404: pages.not_found,
            410: pages.erased,
            DatabaseUnavailableError: pages.unavailable,
        },
    )
    # Redirects would use the Host header, which the client controls.
    app.router.redirect_slashes = False
    return app


class SitePages:
    def __init__(
        self,
        database: PageDatabase,
        renderer: Renderer,
        articles_per_page: int,
        covers: Covers,
        views: PageViewCounter | None,
        requests: SiteRequests,
        cache: PageCache,
    ) -> None:
        self._database = database
        self._renderer = renderer
        self._requests = requests
        self._articles_per_page = articles_per_page
        self._covers = covers
        self._views = views
        self._versions = PageVersions(database)
        self._page_cache = cache

    async def sites(self, request: Request) -> Response:
        async with self._database.connection() as connection:
            sites = await store.sites(connection, _MAX_SITES)
        return self._page(request, self._requests.renderer(request).sites(sites), None)

    async def all_robots(self, request: Request) -> Response:
        async with self._database.connection() as connection:
            sites = await store.sites(connection, _MAX_SITES)
        return respond(
            request,
            self._requests.renderer(request).robots(sites),
            media_type="text/plain",
            cache_control=_A_WHILE,
        )

    async def to_site(self, request: Request) -> Response:
        return RedirectResponse(urls_of(request).site(brand_of(request)), status_code=308)

    async def to_article(self, request: Request) -> Response:
        return RedirectResponse(
            urls_of(request).article(brand_of(request), slug_of(request)), status_code=308
        )

    async def reserved_article(self, request: Request) -> Response:
        """Serves an article with a slug that is reserved at the root of a host."""
        if slug_of(request) in TAKEN and urls_of(request).own is not None:
            return await self.article(request)
        return await self.to_article(request)

    async def index(self, request: Request) -> Response:
        return await self._list(request, 1)

    async def listing(self, request: Request) -> Response:
        number = number_of(request.path_params["number"])
        if number == 1:
            return RedirectResponse(urls_of(request).site(brand_of(request)), status_code=308)
        return await self._list(request, number)

    async def _list(self, request: Request, number: int) -> Response:
        return await self._requests.kept(request, ("all", number), partial(self._listed, request, number))

    async def _listed(self, request: Request, number: int) -> CachedAnswer:
        site = await self._requests.site(request, with_count=True)
        total = self._total(site.pages)
        if not 1 <= number <= total:
            raise HTTPException(404)
        offset = (number - 1) * self._articles_per_page
        async with self._database.connection() as connection:
            pages = await store.newest(connection, site.brand_slug, self._articles_per_page, offset)
            tags = await site_search.tags_of_site(connection, site) if number == 1 else []
        body = self._requests.renderer(request).index(
            site, ArticleListPage(tuple(pages), number, total), tags
        )
        return self._answer(request, body, site)

    def _total(self, articles: int) -> int:
        """The number of list pages for so many articles."""
        return min(max(1, -(-articles // self._articles_per_page)), MAX_NUMBER)

    async def tag(self, request: Request) -> Response:
        number, wanted = number_of(request.path_params.get("number", "1")), request.path_params["tag"]
        if "number" in request.path_params and number == 1 and is_slug(wanted):
            return RedirectResponse(
                urls_of(request).tag(brand_of(request), PageSlug(wanted)), status_code=308
            )
        return await self._requests.kept(
            request, ("tag", wanted, number), partial(self._tagged, request, wanted, number)
        )

    async def _tagged(self, request: Request, wanted: str, number: int) -> CachedAnswer:
        site = await self._requests.site(request)
        name = next((tag for tag in site.settings.tags if tag_slug(tag) == wanted), None)
        if name is None or number < 1:
            raise HTTPException(404)
        offset = (number - 1) * self._articles_per_page
        async with self._database.connection() as connection:
            count, pages = await site_search.pages_with_tag(
                connection, site, name, self._articles_per_page, offset
            )
        total = self._total(count)
        if not pages:
            raise HTTPException(404)
        tag = site_search.Tag(name, tag_slug(name), count)
        body = self._requests.renderer(request).tag(site, ArticleListPage(tuple(pages), number, total, tag))
        return self._answer(request, body, site)

    async def author(self, request: Request) -> Response:
        site = await self._requests.site(request, with_count=True)
        author = site.settings.author
        if author is None or author.slug != request.path_params["author"]:
            raise HTTPException(404)
        async with self._database.connection() as connection:
            pages = await store.newest(connection, site.brand_slug, self._articles_per_page)
        body = self._requests.renderer(request).author(site, author, pages)
        return self._page(request, body, site)

    async def search(self, request: Request) -> Response:
        site = await self._requests.site(request)
        wanted = clean_line(request.query_params.get("q", ""))[:_MAX_WANTED]
        pages = []
        if wanted:
            async with self._database.connection() as connection:
                pages = await site_search.search_pages(connection, site, wanted, _MOST_FOUND + 1)
        shown = pages[:_MOST_FOUND]
        body = self._requests.renderer(request).search(site, wanted, shown, are_all=len(pages) == len(shown))
        response = self._page(request, body, site, cache_control=_FOR_THIS_READER)
        # The search form is the only form, and submits here.
        response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY.replace(
            "form-action 'none'", "form-action 'self'"
        )
        return response

    async def look(self, request: Request) -> Response:
        site = await self._requests.site(request)
        own = own_stylesheet(site.settings)
        if own is None or _DIGEST.fullmatch(request.path_params["digest"]) is None:
            raise HTTPException(404)
        # Cached pages may name the previous file.
        is_current = own.digest == request.path_params["digest"]
        return respond(request, own.css, media_type=_CSS, cache_control=_FOR_EVER if is_current else _BRIEFLY)

    async def article(self, request: Request) -> Response:
        brand, slug = request.path_params["brand"], request.path_params["slug"]
        place = urls_of(request), brand, slug
        are_slugs = is_slug(brand) and is_slug(slug)
        version = await self._versions.get(BrandSlug(brand), PageSlug(slug)) if are_slugs else None
        if version is None:
            self._page_cache.drop(place)
            return await self._without_article(request)
        answer = self._page_cache.get(place, version.version)
        if answer is None:
            answer = await self._article(request)
            if answer is None:
                return await self._without_article(request)
            self._page_cache.put(place, version.version, answer)
        if self._views is not None:
            self._views.record(version.content_id, request.method, request.headers)
        return answer.respond(request)

    async def _article(self, request: Request) -> CachedAnswer | None:
        """Renders the article's page; None if it disappeared meanwhile."""
        site, slug = await self._requests.site(request), slug_of(request)
        async with self._database.connection() as connection:
            page = await store.page(connection, site.brand_slug, slug)
            if page is None or page.taken_down_at is not None:
                return None
            related = await site_search.related_articles(connection, site, slug)
        body = self._requests.renderer(request).article(site, page, related)
        return self._answer(request, body, site)

    def _answer(self, request: Request, body: str, site: Site) -> CachedAnswer:
        headers = {"Cache-Control": _BRIEFLY, "Link": self._preloads(request, site)}
        return CachedAnswer.build(body, media_type=_HTML, last_modified=site.changed_at, headers=headers)

    async def _without_article(self, request: Request) -> Response:
        """Answers for an address without a visible page: redirects to its new address, or answers 410 or 404."""
        site, slug = await self._requests.site(request), slug_of(request)
        async with self._database.connection() as connection:
            page = await store.page(connection, site.brand_slug, slug)
            former = None if page else await store.find_former(connection, site.brand_slug, slug)
        if former is not None and former.moved_to is not None:
            return _moved(urls_of(request).article(site.brand_slug, former.moved_to))
        if page is None and former is None:
            if slug == "search":
                return RedirectResponse(urls_of(request).search(site.brand_slug), status_code=307)
            raise HTTPException(404)
        return HTMLResponse(
            self._requests.renderer(request).gone(site), status_code=410, headers={"Cache-Control": _BRIEFLY}
        )

    async def cover(self, request: Request) -> Response:
        brand, file = brand_of(request), _COVER_FILE.fullmatch(request.path_params["file"])
        if file is None:
            raise HTTPException(404)
        slug, format_ = PageSlug(file["slug"]), Format(file["format"])
        picture = await self._covers.picture(brand, slug, file["digest"], format_)
        if picture is None:
            async with self._database.connection() as connection:
                former = await store.find_former(connection, brand, slug)
            if former is None or former.moved_to is None:
                raise HTTPException(404)
            return _moved(urls_of(request).cover(brand, former.moved_to, f"{file['digest']}.{format_.value}"))
        response = respond(request, picture, media_type=format_.media_type, cache_control=_FOR_EVER)
        # Other sites show this picture in shared links.
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return response

    async def logo(self, request: Request) -> Response:
        brand, digest = brand_of(request), request.path_params["digest"]
        if _DIGEST.fullmatch(digest) is None:
            raise HTTPException(404)
        async with self._database.connection() as connection:
            body = await logos.body(connection, brand, digest)
            logo = None if body else await logos.logo(connection, brand)
        if body is None:
            if logo is None:
                raise HTTPException(404)
            # Cached pages may name the previous file.
            headers = {"Cache-Control": _BRIEFLY}
            return RedirectResponse(
                urls_of(request).logo(brand, logo.digest), status_code=307, headers=headers
            )
        return respond(request, body, media_type="image/png", cache_control=_FOR_EVER)

    async def not_found(self, request: Request, _error: Exception) -> Response:
        try:
            site = await self._requests.find_site(request)
        except DatabaseUnavailableError:
            site = None
        return HTMLResponse(self._requests.renderer(request).not_found(site), status_code=404)

    async def erased(self, request: Request, _error: Exception) -> Response:
        return HTMLResponse(
            self._requests.renderer(request).not_found(None),
            status_code=410,
            headers={"Cache-Control": _BRIEFLY},
        )

    async def unavailable(self, _request: Request, _error: Exception) -> Response:
        headers = {"Retry-After": "30", "Cache-Control": "no-store"}
        return HTMLResponse(self._renderer.unavailable(), status_code=503, headers=headers)

    def _page(
        self, request: Request, body: str, site: Site | None, *, cache_control: str = _BRIEFLY
    ) -> Response:
        changed_at = site.changed_at if site else None
        response = respond(
            request, body, media_type=_HTML, last_modified=changed_at, cache_control=cache_control
        )
        response.headers["Link"] = self._preloads(request, site)
        return response

    def _preloads(self, request: Request, site: Site | None) -> str:
        """The header `Link`: a proxy may send it before the page (103 Early Hints)."""
        sheets = self._requests.renderer(request).stylesheets(site)
        return ", ".join(f"<{sheet}>; rel=preload; as=style" for sheet in sheets)


def _moved(address: str) -> Response:
    # Permanent, but cached briefly: a page may move back.
    return RedirectResponse(address, status_code=301, headers={"Cache-Control": _A_WHILE})
