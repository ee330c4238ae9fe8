"""Erasing a brand: the dead letters of its messages."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection
from envelope import DomainMessage, EnvelopeHead
from envelope.brand.payloads import BrandErased, DeadLettersErase
from messaging import Transaction
from monitor import store
from monitor.rewriting import read_head

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 200
_LOCK: Final = "hashtextextended('monitor.erasure', 0)"


async def erase(commands: Sequence[DomainMessage[DeadLettersErase]], tx: Transaction) -> None:
    """Removes all there is of a brand, and says so. The same erasure again removes nothing: by then the name may be another brand's."""
    for command in commands:
        removed = await _erase_once(tx.connection, command)
        answer = BrandErased(
            brand_slug=command.payload.brand_slug,
            erasure_id=command.payload.erasure_id,
            service="monitor",
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


async def _erase_once(connection: Connection, command: DomainMessage[DeadLettersErase]) -> dict[str, int]:
    brand, erasure_id = command.payload.brand_slug, command.payload.erasure_id
    # Whatever is about to be stored of the brand is stored before, and seen here; what comes later sees the row. The order comes
    # first, as for whoever records deaths.
    await store.take_order(connection)
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
    """Piece by piece: bodies are as large as messages may be. Which brand one is about, its payload says."""
    removed, after = 0, UUID(int=0)
    while True:
        rows = await connection.fetch(
            "select id, payload from dead_messages where id > $1 and position(convert_to($2, 'UTF8') in payload) > 0"
            " order by id limit $3",
            after,
            f'"{brand}"',
            _AT_ONCE,
        )
        if not rows:
            return {"dead_letters": removed}
        after = rows[-1]["id"]
        ids = [row["id"] for row in rows if brand_of(read_head(row["payload"])) == brand]
        removed += _count(await connection.execute("delete from dead_messages where id = any ($1)", ids))


def brand_of(head: EnvelopeHead | None) -> str | None:
    """The brand that a message says it is about."""
    brand = None if head is None else head.payload.get("brand_slug")
    return brand if isinstance(brand, str) else None


def _count(status: str) -> int:
    """Of `DELETE 5`."""
    return int(status.rpartition(" ")[2])
