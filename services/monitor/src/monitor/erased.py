"""Which brands were erased: what was sent about one before that and comes late is dropped."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

import structlog

from chassis import Connection
from envelope import EnvelopeHead

log = structlog.get_logger(__name__)

LOCK: Final = "hashtextextended('monitor.erasure', 0)"
"""Held by whoever erases a brand, and shared by whoever stores something of one."""


async def erased(connection: Connection, brands: Collection[str]) -> dict[str, datetime]:
    """When those of the brands were erased that were; none of them is erased before the transaction ends."""
    await connection.execute(f"select pg_advisory_xact_lock_shared({LOCK})")
    rows = await connection.fetch(
        "select brand_slug, max(asked_at) as asked_at from erased_brands where brand_slug = any ($1) group by brand_slug",
        list(brands),
    )
    return {row["brand_slug"]: row["asked_at"] for row in rows}


def comes_too_late(brand: str, sent_at: datetime, erased: Mapping[str, datetime]) -> bool:
    """Whether the brand that a message is about was erased after it was sent: it is dropped, with this word of it."""
    late = brand in erased and sent_at <= erased[brand]
    if late:
        log.info("message_of_erased_brand", brand=brand, sent_at=sent_at.isoformat())
    return late


def brand_of(head: EnvelopeHead | None) -> str | None:
    """The brand that a message says it is about."""
    brand = None if head is None else head.payload.get("brand_slug")
    return brand if isinstance(brand, str) else None
