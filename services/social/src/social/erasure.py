"""Erasing a brand: its posts, and its feed."""

from typing import Final

import receipts
from chassis import Connection
from envelope.brand.payloads import BrandErased
from messaging.erasure import ErasedBrands, delete_brand_rows

ERASURES: Final = ErasedBrands("social")
_TABLES: Final = {
    # First, as one that is approved at this moment becomes a post.
    "pending_posts": "pending_posts",
    # Before what they make again.
    "repeats": "repeats",
    # How they are received goes with them.
    "posts_elsewhere": "channel_posts",
    "channel_rules": "channel_rules",
    "posting_rules": "posting_rules",
    "posts": "posts",
    "accounts": "accounts",
}
"""In an order in which nothing refers to what is gone."""


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    await receipts.forget(connection, [brand])
    return {what: await delete_brand_rows(connection, table, brand) for what, table in _TABLES.items()}


async def _elsewhere(connection: Connection, brand: str) -> dict[str, object]:
    """Its posts on other people's platforms, which stay there."""
    row = await connection.fetchrow(
        """
        with there as (
            select post_url as address, posted_at, number from channel_posts where brand_slug = $1 and state = 'posted')
        select (select count(*) from there) as elsewhere_count, array(
            select address from there where octet_length(address) between 1 and 300
            order by posted_at desc, number desc limit 200) as elsewhere
        """,
        brand,
    )
    assert row is not None
    return dict(row)


erase: Final = ERASURES.handler(_remove, BrandErased, read_fields=_elsewhere)
