"""`/preview/{word}`: a draft as its site would show it."""

from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import structlog
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from messaging import Database, RetryLater, Unprocessable
from publisher import logos, store
from publisher.domain import Article, ArticlePage, BrandSlug, Site, page_texts, wanted_slug
from publisher.markup import Home, to_html
from publisher.orchestrator_client import Fetched, Unchanged
from publisher.previews.store import find_link
from publisher.rendering import Renderer
from publisher.site_settings import settings_of
from publisher.urls import SiteUrls

log = structlog.get_logger(__name__)

_LONGEST_WORD: Final = 100
_HEADERS: Final = {
    # The link is a secret: it must not leak to search engines or to the sources that a reader opens.
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class DraftReader(Protocol):
    """Reads articles that may be unpublished."""

    async def article(self, content_id: UUID, *, known_etag: str | None = None) -> Fetched | Unchanged | None:
        """As `OrchestratorClient` has it."""

    async def version(self, content_id: UUID, version: int) -> Article | None:
        """As `OrchestratorClient` has it."""


@dataclass(frozen=True, slots=True)
class PreviewPages:
    database: Database
    drafts: DraftReader
    renderer: Renderer
    urls: SiteUrls

    async def show(self, request: Request) -> Response:
        word = request.path_params["word"]
        found = None
        if len(word) <= _LONGEST_WORD and word.isascii():
            async with self.database.connection() as connection:
                found = await find_link(connection, word)
        if found is None:
            return self._nothing()
        try:
            answer = await self.drafts.article(found.content_id)
        except (RetryLater, Unprocessable) as problem:
            log.warning("preview_without_article", content_id=str(found.content_id), problem=str(problem))
            headers = {**_HEADERS, "Retry-After": "30"}
            return HTMLResponse(self.renderer.unavailable(), status_code=503, headers=headers)
        if not isinstance(answer, Fetched) or answer.article.brand.slug != found.brand:
            return self._nothing()
        site = await site_of(self.database, answer.article)
        page = page_of(answer.article, self.urls)
        return HTMLResponse(self.renderer.preview(site, page, found.expires_at), headers=_HEADERS)

    def _nothing(self) -> Response:
        return HTMLResponse(self.renderer.not_found(None), status_code=404, headers=_HEADERS)


async def site_of(database: Database, article: Article) -> Site:
    """The site, or the one that the brand's first article would create."""
    brand = BrandSlug(article.brand.slug)
    async with database.connection() as connection:
        site = await store.site(connection, brand)
        if site is not None:
            return site
        settings, logo = await settings_of(connection, brand), await logos.logo(connection, brand)
    about = article.brand
    site = Site(brand, about.name, about.description, about.language, article.updated_at, 0, logo)
    return site if settings is None else site.with_settings(settings)


def page_of(article: Article, urls: SiteUrls) -> ArticlePage:
    """The page that an article would get."""
    home = Home(urls.origin, urls.site(BrandSlug(article.brand.slug)))
    markup = to_html(article.body_markdown, frozenset(source.n for source in article.sources), home)
    return ArticlePage(
        **page_texts(article),
        content_id=article.content_id,
        slug=wanted_slug(article),
        published_at=article.updated_at,
        updated_at=article.updated_at,
        body_html=markup.html,
        sections=markup.sections,
        cited=markup.cited,
        figure=markup.figure,
    )
