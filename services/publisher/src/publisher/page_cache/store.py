"""Versions of pages, from one statement and so from one moment."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from uuid import UUID

from chassis import Connection
from publisher.domain import BrandSlug, PageSlug


@dataclass(frozen=True, slots=True)
class PageVersion:
    """The version of a visible page."""

    content_id: UUID
    version: Hashable
    """Differs after each change to anything that the page shows."""


async def find_versions(
    connection: Connection, places: Sequence[tuple[BrandSlug, PageSlug]]
) -> dict[tuple[BrandSlug, PageSlug], PageVersion]:
    """The versions of the pages at these addresses; leaves out missing pages and pages taken down.

    A page shows its own row, its site's, the logo and the settings: `xmin` is the transaction that last wrote each of these.
    `changed_at` covers its links to other pages: every visible change on the site updates it.
    """
    rows = await connection.fetch(
        """
        select brand_slug, slug, pages.content_id, sites.changed_at, sites.xmin, pages.xmin, logos.xmin, site_settings.xmin
        from unnest($1::text[], $2::text[]) as asked (brand_slug, slug)
             join pages using (brand_slug, slug) join sites using (brand_slug)
             left join logos using (brand_slug) left join site_settings using (brand_slug)
        where taken_down_at is null
        """,
        [brand for brand, _ in places],
        [slug for _, slug in places],
    )
    return {(row[0], row[1]): PageVersion(row[2], tuple(row)[3:]) for row in rows}
