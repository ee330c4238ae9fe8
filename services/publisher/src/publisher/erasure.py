"""Erasing a brand: its site with all pages, pictures and addresses, and its logo."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

import structlog

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import BrandErased, ContentErase
from messaging import Transaction

log = structlog.get_logger(__name__)

_TABLES: Final = {
    "pages": "pages",
    "addresses": "former_addresses",
    "deletions": "deleted_articles",
    "logos": "logos",
    "site_settings": "site_settings",
    "previews": "previews",
    "publications": "publications",
    "targets": "target_settings",
    "receipts": "receipts",
    "sites": "sites",
}
"""In an order in which nothing refers to what is gone."""
_LOCK: Final = "hashtextextended('publisher.erasure', 0)"


async def erase(commands: Sequence[DomainMessage[ContentErase]], tx: Transaction) -> None:
    """Removes all there is of a brand, and says so. The same erasure again removes nothing: by then the name may be another brand's."""
    for command in commands:
        removed = await _erase_once(tx.connection, command)
        answer = BrandErased(
            brand_slug=command.payload.brand_slug,
            erasure_id=command.payload.erasure_id,
            service="publisher",
            removed=removed,
        )
        tx.send(answer, caused_by=command)
        log.info("brand_erased", brand=answer.brand_slug, erasure_id=str(answer.erasure_id), removed=removed)


async def erased(connection: Connection, brands: Collection[str]) -> dict[str, datetime]:
    """When those of the brands were erased that were; none of them is erased before the transaction ends."""
    await connection.execute(f"select pg_advisory_xact_lock_shared({_LOCK})")
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


async def _erase_once(connection: Connection, command: DomainMessage[ContentErase]) -> dict[str, int]:
    brand, erasure_id = command.payload.brand_slug, command.payload.erasure_id
    # Whatever is about to be stored of the brand is stored before, and seen here; what comes later sees the row.
    await connection.execute(f"select pg_advisory_xact_lock({_LOCK})")
    before: str | None = await connection.fetchval(
        "select removed::text from erased_brands where erasure_id = $1", erasure_id
    )
    if before is not None:
        known: dict[str, int] = json.loads(before)
        return known
    removed = await _remove(connection, brand)
    await connection.execute(
        "insert into erased_brands (erasure_id, brand_slug, asked_at, removed) values ($1, $2, $3, $4::text::jsonb)",
        erasure_id,
        brand,
        command.timestamp,
        json.dumps(removed),
    )
    return removed


async def _remove(connection: Connection, brand: str) -> dict[str, int]:
    # Pictures go with their pages.
    return {
        what: _count(await connection.execute(f"delete from {table} where brand_slug = $1", brand))  # noqa: S608
        for what, table in _TABLES.items()
    }


async def is_erased(connection: Connection, brand: str) -> bool:
    """Whether there was such a site."""
    erased: bool = await connection.fetchval(
        "select exists (select from erased_brands where brand_slug = $1)", brand
    )
    return erased


def _count(status: str) -> int:
    """Of `DELETE 5`."""
    return int(status.rpartition(" ")[2])
