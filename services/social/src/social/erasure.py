"""Erases a brand's posts and feed."""

from typing import Final

import receipts
from chassis import Connection
from envelope.brand.payloads import BrandErased
from messaging.departures import BrandDepartures
from messaging.erasure import ErasedBrands, delete_brand_rows

ERASURES: Final = ErasedBrands("social")
DEPARTURES: Final = BrandDepartures(
    ERASURES,
    {
        # After a loss of commits, planned ones may be out too: they are looked up before they are sent.
        "posts being sent": """
            select count(*) from channel_posts
            where brand_slug = $1 and (state in ('new', 'sending') or state = 'planned' and may_be_out_since is not null)
        """,
    },
)
_TABLES: Final = {
    # First, since an approval at the same moment makes a post of it.
    "pending_posts": "pending_posts",
    # Before the posts that they repeat.
    "repeats": "repeats",
    # Their metrics are deleted with them.
    "posts_elsewhere": "channel_posts",
    "channel_rules": "channel_rules",
    "posting_rules": "posting_rules",
    "posts": "posts",
    "accounts": "accounts",
    "imports": "brand_imports",
}
"""Table names by label, in an order that satisfies foreign keys."""


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    await receipts.forget(connection, [brand])
    return {what: await delete_brand_rows(connection, table, brand) for what, table in _TABLES.items()}


async def _elsewhere(connection: Connection, brand: str) -> dict[str, object]:
    """Number and addresses of its posts on other platforms, which stay there."""
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
