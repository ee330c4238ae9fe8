"""What stands beside an article."""

from dataclasses import dataclass
from typing import Final

from chassis import Connection
from publisher import store as pages
from publisher.domain import PageSlug, PageSummary, Site
from publisher.finding import store
from publisher.finding.store import Tag

_NEXT: Final = 3


@dataclass(frozen=True, slots=True)
class Beside:
    """Those to read next, and the article's tags."""

    next: tuple[PageSummary, ...] = ()
    are_related: bool = False
    tags: tuple[Tag, ...] = ()


async def beside(connection: Connection, site: Site, slug: PageSlug) -> Beside:
    """Related articles, or, where there are none, the newest."""
    tags = tuple(await store.tags_of_page(connection, site, slug))
    related = await store.related(connection, site.brand_slug, slug, _NEXT)
    if related:
        return Beside(tuple(related), are_related=True, tags=tags)
    newest = await pages.newest(connection, site.brand_slug, _NEXT + 1)
    return Beside(tuple(page for page in newest if page.slug != slug)[:_NEXT], tags=tags)
