"""In what state pages are: one statement, so that all it tells is of one moment."""

from collections.abc import Hashable
from dataclasses import dataclass
from uuid import UUID

from chassis import Connection
from publisher.domain import BrandSlug, PageSlug


@dataclass(frozen=True, slots=True)
class Standing:
    """A page that can be seen."""

    content_id: UUID
    version: Hashable
    """Another one whenever anything that the page shows may be another."""


async def standing_of(connection: Connection, brand: BrandSlug, slug: PageSlug) -> Standing | None:
    """None if there is no page, or it was taken down.

    A page shows its own row, its site's, the logo and what the brand has decided: `xmin` is the transaction that wrote each of these last.
    What it shows of other pages (those to read next) is in `changed_at`, which is set with each change that a visitor can see anywhere on the site.
    """
    row = await connection.fetchrow(
        """
        select pages.content_id, sites.changed_at, sites.xmin, pages.xmin, logos.xmin, site_settings.xmin
        from pages join sites using (brand_slug) left join logos using (brand_slug) left join site_settings using (brand_slug)
        where brand_slug = $1 and slug = $2 and taken_down_at is null
        """,
        brand,
        slug,
    )
    return None if row is None else Standing(row[0], tuple(row)[1:])
