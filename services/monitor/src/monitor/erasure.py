"""Erasing a brand: the dead letters of its messages, what was noticed of it, and who was told."""

import json
from collections.abc import Sequence

import structlog

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import BrandErased, DeadLettersErase
from messaging import Transaction
from monitor import dead_letters, notifications
from monitor.erased import LOCK

log = structlog.get_logger(__name__)


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


async def _erase_once(connection: Connection, command: DomainMessage[DeadLettersErase]) -> dict[str, int]:
    brand, erasure_id = command.payload.brand_slug, command.payload.erasure_id
    # Whatever is about to be stored of the brand is stored before, and seen here; what comes later sees the row. The order comes
    # first, as for whoever records deaths.
    await dead_letters.take_order(connection)
    await connection.execute(f"select pg_advisory_xact_lock({LOCK})")
    before: str | None = await connection.fetchval(
        "select removed::text from erased_brands where erasure_id = $1", erasure_id
    )
    if before is not None:
        known: dict[str, int] = json.loads(before)
        return known
    removed = {
        "dead_letters": await dead_letters.remove(connection, brand),
        **await notifications.erase(connection, brand),
    }
    await connection.execute(
        "insert into erased_brands (erasure_id, brand_slug, asked_at, removed) values ($1, $2, $3, $4::text::jsonb)",
        erasure_id,
        brand,
        command.timestamp,
        json.dumps(removed),
    )
    return removed
