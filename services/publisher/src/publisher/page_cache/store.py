"""In what state pages are: one statement, so that all it tells is of one moment."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from uuid import UUID

from chassis import Connection
from publisher.domain import BrandSlug, PageSlug


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A page that can be seen."""

    content_id: UUID
    version: Hashable
    """Another one whenever anything that the page shows may be another."""


async def find_versions(
    connection: Connection, places: Sequence[tuple[BrandSlug, PageSlug]]
) -> dict[tuple[BrandSlug, PageSlug], PageVersion]:
    """Of those places where there is a page that was not taken down.

    A page shows its own row, its site's, the logo and what the brand has decided: `xmin` is the transaction that wrote each of these last.
    What it shows of other pages (those to read next) is in `changed_at`, which is set with each change that a visitor can see anywhere on the site.
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
