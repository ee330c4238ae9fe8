"""Generates the files of a site one after the other."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

from messaging import Database
from publisher import logos, site_search, sitemaps, store
from publisher.covers import Covers, Format
from publisher.domain import ArticlePage, PageSummary, Site
from publisher.rendering import ASSETS, ArticleListPage, Renderer, cover_of
from publisher.site_export.urls import FileUrls
from publisher.site_settings import own_stylesheet

MOST_PAGES: Final = 50_000
_FEED_ENTRIES: Final = 20


@dataclass(frozen=True, slots=True)
class ExportedFile:
    name: str
    """Path such as `tags/espresso.html`, of the characters a-z, 0-9, `-`, `_`, `.` and `/`."""
    body: bytes
    is_packed: bool = False
    """Whether the file's format is compressed already."""


class SiteExport:
    """The files of one site.

    `canonical` gives the addresses at which the files will be served; None: the publisher's own addresses stay canonical.
    """

    def __init__(
        self,
        database: Database,
        renderer: Renderer,
        covers: Covers,
        articles_per_page: int,
        site: Site,
        canonical: FileUrls | None,
    ) -> None:
        self._database = database
        self._renderer = renderer
        self._covers = covers
        self._articles_per_page = articles_per_page
        self._site = site
        self._canonical = canonical
        self._urls = FileUrls("", "", site.brand_slug)

    async def all(self) -> AsyncIterator[ExportedFile]:
        """Yields each file. Articles published or taken down during the export may be in it or not.

        Raises:
            DatabaseUnavailableError: the database went away.
        """
        brand = self._site.brand_slug
        async with self._database.connection() as connection:
            pages = await store.newest(connection, brand, MOST_PAGES)
            newest = await store.newest_in_full(connection, brand, _FEED_ENTRIES)
            tags = await site_search.tags_of_site(connection, self._site)
            moves = await store.list_moves(connection, brand, MOST_PAGES)
        yield _text(f"assets/{ASSETS.stylesheet}", ASSETS.texts[ASSETS.stylesheet])
        yield _text("favicon.svg", self._renderer.icon(self._site))
        if own := own_stylesheet(self._site.settings):
            yield _text(_name(self._urls.look(brand, own.digest)), own.css)
        if self._site.logo:
            async with self._database.connection() as connection:
                logo = await logos.body(connection, brand, self._site.logo.digest)
            if logo:
                yield ExportedFile(
                    _name(self._urls.logo(brand, self._site.logo.digest)), logo, is_packed=True
                )
        for file in chain(self._lists(pages, tags), self._for_programs(pages, newest, tags)):
            yield file
        for tag in tags:
            async for file in self._tag(tag):
                yield file
        for page in pages:
            async for file in self._article(page):
                yield file
        for before, now in moves:
            yield self._page(
                self._urls.article(brand, before), partial(Renderer.moved, site=self._site, slug=now)
            )

    def _lists(self, pages: Sequence[PageSummary], tags: Sequence[site_search.Tag]) -> Iterator[ExportedFile]:
        brand = self._site.brand_slug
        for listing in _listings(pages, self._articles_per_page):
            shown = tags if listing.number == 1 else ()
            yield self._page(
                self._urls.listing(brand, listing.number),
                partial(Renderer.index, site=self._site, listing=listing, tags=shown),
            )
        if author := self._site.settings.author:
            newest = pages[: self._articles_per_page]
            yield self._page(
                self._urls.author(brand, author.slug),
                partial(Renderer.author, site=self._site, author=author, pages=newest),
            )

    def _for_programs(
        self, pages: Sequence[PageSummary], newest: Sequence[ArticlePage], tags: Sequence[site_search.Tag]
    ) -> Iterator[ExportedFile]:
        site, renderer = self._site, self._renderer_at("")
        yield _text("feed.xml", renderer.feed(site, newest))
        yield _text("rss.xml", renderer.rss(site, newest))
        yield _text("robots.txt", renderer.robots([site]))
        parts = sitemaps.parts_of(len(pages))
        if parts == 1:
            yield _text("sitemap.xml", renderer.sitemap(site, pages, tags))
            return
        yield _text("sitemap.xml", renderer.sitemap_of_parts(site, parts))
        oldest = pages[::-1]
        for part in range(1, parts + 1):
            listed = oldest[(part - 1) * sitemaps.ENTRIES : part * sitemaps.ENTRIES]
            has_home = part == 1
            text = renderer.sitemap(site, listed, tags if has_home else (), has_home=has_home)
            yield _text(_name(self._urls.sitemap(site.brand_slug, part)), text)

    async def _tag(self, tag: site_search.Tag) -> AsyncIterator[ExportedFile]:
        brand = self._site.brand_slug
        async with self._database.connection() as connection:
            _, pages = await site_search.pages_with_tag(connection, self._site, tag.name, MOST_PAGES, 0)
        for listing in _listings(pages, self._articles_per_page):
            yield self._page(
                self._urls.tag(brand, tag.slug, listing.number),
                partial(Renderer.tag, site=self._site, listing=replace(listing, of_tag=tag)),
            )

    async def _article(self, summary: PageSummary) -> AsyncIterator[ExportedFile]:
        brand = self._site.brand_slug
        async with self._database.connection() as connection:
            page = await store.page(connection, brand, summary.slug)
            related = await site_search.related_articles(connection, self._site, summary.slug)
        if page is None or page.taken_down_at is not None:
            return
        yield self._page(
            self._urls.article(brand, page.slug),
            partial(Renderer.article, site=self._site, page=page, related=related),
        )
        cover = cover_of(self._site, page)
        for format_ in Format:
            picture = await self._covers.picture(brand, page.slug, cover.digest, format_)
            if picture is not None:
                name = _name(self._urls.cover(brand, page.slug, cover.file(format_)))
                yield ExportedFile(name, picture, is_packed=True)

    def _page(self, address: str, render: Callable[[Renderer], str]) -> ExportedFile:
        name = _name(address)
        return _text(name, render(self._renderer_at(name)))

    def _renderer_at(self, here: str) -> Renderer:
        return self._renderer.with_urls(replace(self._urls, here=here), self._canonical)


def _name(address: str) -> str:
    return address.removeprefix("/") or "index.html"


def _text(name: str, text: str) -> ExportedFile:
    return ExportedFile(name, text.encode())


def _listings(pages: Sequence[PageSummary], each: int) -> Iterator[ArticleListPage]:
    """Splits the articles into list pages; at least one, even if empty."""
    total = max(1, -(-len(pages) // each))
    for number in range(1, total + 1):
        yield ArticleListPage(tuple(pages[(number - 1) * each : number * each]), number, total)
