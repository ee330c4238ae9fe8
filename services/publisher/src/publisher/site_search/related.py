"""The links to other articles on an article's page."""

from dataclasses import dataclass
from typing import Final

from chassis import Connection
from publisher import store as pages
from publisher.domain import PageSlug, PageSummary, Site
from publisher.site_search import store
from publisher.site_search.store import Tag

_NEXT: Final = 3


@dataclass(frozen=True, slots=True)
class RelatedArticles:
    """The articles to read next, and the article's tags."""

    next: tuple[PageSummary, ...] = ()
    are_related: bool = False
    tags: tuple[Tag, ...] = ()


async def related_articles(connection: Connection, site: Site, slug: PageSlug) -> RelatedArticles:
    """Related articles, or the newest if none are related."""
    tags = tuple(await store.tags_of_page(connection, site, slug))
    related = await store.related(connection, site.brand_slug, slug, _NEXT)
    if related:
        return RelatedArticles(tuple(related), are_related=True, tags=tags)
    newest = await pages.newest(connection, site.brand_slug, _NEXT + 1)
    return RelatedArticles(tuple(page for page in newest if page.slug != slug)[:_NEXT], tags=tags)
