"""Erases a brand: its site with all pages, pictures and addresses, and its logo."""

from typing import Final

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import BrandErased, ContentDelete, ContentPublish
from messaging.departures import BrandDepartures
from messaging.erasure import ErasedBrands, delete_brand_rows, is_of_erased_brand

ERASURES: Final = ErasedBrands("publisher")
DEPARTURES: Final = BrandDepartures(
    ERASURES,
    {
        "articles on their way to a target": "select count(*) from publications where brand_slug = $1 and state = 'writing'",
        # A letter waits ten minutes.
        "letters of the newsletter": """
            select (select count(*) from newsletter_letters where brand_slug = $1 and addressed_at is null)
                + (select count(*) from newsletter_deliveries where brand_slug = $1 and state in ('waiting', 'sending'))
        """,
    },
)
_TABLES: Final = {
    # First, or the notifier would send search engines the addresses of removed pages.
    "indexnow_keys": "indexnow_keys",
    "changed_addresses": "changed_addresses",
    "newsletters": "newsletters",
    "letters": "newsletter_letters",
    "deliveries": "newsletter_deliveries",
    "subscribers": "newsletter_subscribers",
    "sign_ups": "newsletter_sign_ups",
    "pages": "pages",
    "addresses": "former_addresses",
    "deletions": "deleted_articles",
    "logos": "logos",
    "site_settings": "site_settings",
    "previews": "previews",
    "short_links": "short_links",
    "publications": "publications",
    "targets": "target_settings",
    "folders": "target_folders",
    "receipts": "receipts",
    "imports": "brand_imports",
    "sites": "sites",
}
"""In this order, foreign keys stay valid at each step."""


async def is_erased(connection: Connection, brand: str) -> bool:
    """Whether the brand was erased."""
    erased: bool = await connection.fetchval(
        "select exists (select from erased_brands where brand_slug = $1)", brand
    )
    return erased


async def is_late(
    connection: Connection, command: DomainMessage[ContentPublish] | DomainMessage[ContentDelete]
) -> bool:
    """Whether the brand was erased after the command was sent.

    If not, the brand cannot be erased before this transaction ends.
    """
    brand = command.payload.brand_slug
    return is_of_erased_brand(brand, command.timestamp, await ERASURES.erasure_times(connection, [brand]))


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    # Deleting pages deletes their pictures.
    return {what: await delete_brand_rows(connection, table, brand) for what, table in _TABLES.items()}


async def _elsewhere(connection: Connection, brand: str) -> dict[str, object]:
    """The brand's articles on external sites and in folders, which stay visible there."""
    row = await connection.fetchrow(
        """
        with there as (
            select coalesce(url, target || ': ' || remote_id) as address, number from publications
            where brand_slug = $1 and is_public and remote_id is not null)
        select (select count(*) from there) as elsewhere_count, array(
            select address from there where octet_length(address) between 1 and 300 order by number desc limit 200) as elsewhere
        """,
        brand,
    )
    assert row is not None
    return dict(row)


erase: Final = ERASURES.handler(_remove, BrandErased, read_fields=_elsewhere)
