"""Erases all data of a brand from a service: once per erasure, with an answer; late messages do not restore it.

Each service says what to remove; this module has the common part. A service that uses it has a table `erased_brands`:
`erasure_id uuid primary key, brand_slug text, asked_at timestamptz, removed jsonb`.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

import structlog

from chassis import Connection
from envelope import DomainMessage, Payload
from messaging.flow.transactions import Transaction

log = structlog.get_logger(__name__)

RemoveBrand: TypeAlias = Callable[[Connection, str], Awaitable[dict[str, int]]]
"""Removes all data of the brand in the caller's transaction; returns the number of rows by name."""
ReadBrandFields: TypeAlias = Callable[[Connection, str], Awaitable[Mapping[str, Any]]]
"""Reads further fields for the answer, by the names of the answer's fields."""
BuildAnswer: TypeAlias = Callable[..., Payload]
"""Builds the answer from `brand_slug`, `erasure_id`, `service`, `removed` and the fields of `ReadBrandFields`."""
Handler: TypeAlias = Callable[[Sequence[DomainMessage[Any]], Transaction], Awaitable[None]]


class ErasedBrands:
    """The brands that were erased from the database of a service.

    Args:
        service: its name; replicas of all versions share one lock of that name.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._lock = f"{service}.erasure"

    def handler(
        self, remove: RemoveBrand, answer: BuildAnswer, *, read_fields: ReadBrandFields | None = None
    ) -> Handler:
        """Builds the handler of commands whose payload has `brand_slug` and `erasure_id`.

        A repeated erasure gets the same answer and removes nothing: the name may be another brand's by then. `read_fields` runs before the
        removal, and only the first answer has its fields, as the database does not keep them.
        """

        async def erase(commands: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
            for command in commands:
                brand, erasure_id = command.payload.brand_slug, command.payload.erasure_id
                removed, more = await self._erase_once(
                    tx.connection, erasure_id, brand, command.timestamp, remove, read_fields
                )
                reply = answer(
                    brand_slug=brand, erasure_id=erasure_id, service=self._service, removed=removed, **more
                )
                tx.send(reply, caused_by=command)
                log.info("brand_erased", brand=brand, erasure_id=str(erasure_id), removed=removed)

        return erase

    async def erasure_times(self, connection: Connection, brands: Collection[str]) -> dict[str, datetime]:
        """Brand → time of its erasure, for the erased ones among `brands`; blocks erasures until the transaction ends."""
        await self.block_erasures(connection)
        rows = await connection.fetch(
            "select brand_slug, max(asked_at) as asked_at from erased_brands where brand_slug = any ($1) group by brand_slug",
            list(brands),
        )
        return {row["brand_slug"]: row["asked_at"] for row in rows}

    async def block_erasures(self, connection: Connection) -> None:
        """Blocks erasures of any brand until the transaction ends; callers do not block each other."""
        await connection.execute("select pg_advisory_xact_lock_shared(hashtextextended($1, 0))", self._lock)

    async def stop_consumers(self, connection: Connection) -> None:
        """Waits for the transactions that called `block_erasures`, and makes later ones wait until this transaction ends."""
        await connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", self._lock)

    async def _erase_once(
        self,
        connection: Connection,
        erasure_id: UUID,
        brand: str,
        asked_at: datetime,
        remove: RemoveBrand,
        read_fields: ReadBrandFields | None,
    ) -> tuple[dict[str, int], Mapping[str, Any]]:
        # Whatever is about to be stored of the brand is stored before, and seen here; what comes later sees the row.
        await self.stop_consumers(connection)
        before: str | None = await connection.fetchval(
            "select removed::text from erased_brands where erasure_id = $1", erasure_id
        )
        if before is not None:
            known: dict[str, int] = json.loads(before)
            return known, {}
        more = await read_fields(connection, brand) if read_fields else {}
        removed = await remove(connection, brand)
        # A brand that had moved away may come back under its name (`messaging.departures`).
        await connection.execute(
            "delete from erased_brands where brand_slug = $1 and asked_at = 'infinity'", brand
        )
        await connection.execute(
            "insert into erased_brands (erasure_id, brand_slug, asked_at, removed) values ($1, $2, $3, $4::text::jsonb)",
            erasure_id,
            brand,
            asked_at,
            json.dumps(removed),
        )
        return removed, more


def is_of_erased_brand(brand: str, sent_at: datetime, erased: Mapping[str, datetime]) -> bool:
    """Whether the message is older than its brand's erasure and must be dropped; logs it if so."""
    late = brand in erased and sent_at <= erased[brand]
    if late:
        log.info("message_of_erased_brand", brand=brand, sent_at=sent_at.isoformat())
    return late


async def delete_brand_rows(connection: Connection, table: str, brand: str) -> int:
    """Deletes the brand's rows of a table with a column `brand_slug`; returns their number."""
    status = await connection.execute(f"delete from {table} where brand_slug = $1", brand)  # noqa: S608 - a name of ours
    return int(status.rpartition(" ")[2])
