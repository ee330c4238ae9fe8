"""Erasing a brand: its site with all pages, pictures and addresses, and its logo."""

from typing import Final

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import BrandErased, ContentDelete, ContentPublish
from messaging.erasure import ErasedBrands, delete_brand_rows, is_of_erased_brand

ERASURES: Final = ErasedBrands("publisher")
_TABLES: Final = {
    # First, as otherwise addresses of removed pages would be told of.
    "indexnow_keys": "indexnow_keys",
    "changed_addresses": "changed_addresses",
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
    "sites": "sites",
}
"""In an order in which nothing refers to what is gone."""


async def is_erased(connection: Connection, brand: str) -> bool:
    """Whether there was such a site."""
    erased: bool = await connection.fetchval(
        "select exists (select from erased_brands where brand_slug = $1)", brand
    )
    return erased


async def is_late(
    connection: Connection, command: DomainMessage[ContentPublish] | DomainMessage[ContentDelete]
) -> bool:
    """Whether its brand was erased after it was sent; if not, nobody erases the brand before the transaction ends."""
    brand = command.payload.brand_slug
    return is_of_erased_brand(brand, command.timestamp, await ERASURES.erasure_times(connection, [brand]))


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    # Pictures go with their pages.
    return {what: await delete_brand_rows(connection, table, brand) for what, table in _TABLES.items()}


async def _elsewhere(connection: Connection, brand: str) -> dict[str, object]:
    """What readers see of it on other people's sites and in folders, and will go on to see."""
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
