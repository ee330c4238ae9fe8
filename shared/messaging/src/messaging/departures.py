"""Brands that leave this installation: from then on, a service drops all messages about them, and publishes nothing of theirs again.

A departure is a row of `erased_brands` (`messaging.erasure`) of all times. The erasure of the brand, or the end of its move, removes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection
from chassis.http.problem_codes import RefusalError
from messaging import problem_codes as codes
from messaging.erasure import ErasedBrands
from messaging.flow.transactions import Database

log = structlog.get_logger(__name__)

_FOR_EVER: Final = "asked_at = 'infinity'"


@dataclass(frozen=True, slots=True)
class BrandDeparture:
    """When a brand left; None: it has not. `under_way` counts what still goes out here."""

    move_id: UUID | None
    left_at: datetime | None
    under_way: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BrandDepartures:
    """The departures from a service.

    Args:
        erased: its erasures; their lock stops its consumers.
        under_way: SQL by name: how many things of the brand $1 are going out.
    """

    erased: ErasedBrands
    under_way: Mapping[str, str]

    async def find(self, connection: Connection, brand: str) -> BrandDeparture:
        row = await connection.fetchrow(
            f"select erasure_id, erased_at from erased_brands where brand_slug = $1 and {_FOR_EVER}",  # noqa: S608
            brand,
        )
        counted = {name: await connection.fetchval(query, brand) for name, query in self.under_way.items()}
        runs = {name: count for name, count in counted.items() if count}
        if row is None:
            return BrandDeparture(None, None, runs)
        return BrandDeparture(row["erasure_id"], row["erased_at"], runs)

    async def check_is_here(self, connection: Connection, brand: str) -> None:
        """Called after `erased.block_erasures`, which keeps the brand here until the transaction ends.

        Raises:
            RefusalError: the brand has left.
        """
        if await connection.fetchval(
            f"select exists (select from erased_brands where brand_slug = $1 and {_FOR_EVER})",  # noqa: S608
            brand,
        ):
            raise RefusalError(
                codes.BRAND_HAS_LEFT,
                f"'{brand}' moves to another installation: do that there, once it is there",
            )

    async def leave(self, database: Database, brand: str, move_id: UUID) -> BrandDeparture:
        """Lets a brand leave, unless something of it is going out. A repeated call changes nothing.

        Raises:
            RefusalError: it has left with another move.
        """
        async with database.transaction() as tx:
            # What a consumer stores is stored before, and counted here; what comes later sees the row.
            await self.erased.stop_consumers(tx.connection)
            found = await self.find(tx.connection, brand)
            if found.move_id not in {None, move_id}:
                raise RefusalError(codes.BRAND_HAS_LEFT, f"'{brand}' has left with another move already")
            if found.move_id is not None or found.under_way:
                return found
            is_new = await tx.connection.fetchval(
                "insert into erased_brands (erasure_id, brand_slug, asked_at, removed) values ($1, $2, 'infinity', '{}')"
                " on conflict do nothing returning true",
                move_id,
                brand,
            )
            if not is_new:
                raise RefusalError(codes.BRAND_HAS_LEFT, "the move is another brand's")
            found = await self.find(tx.connection, brand)
        log.warning("brand_left", brand=brand, move_id=str(move_id))
        return found

    async def stay(self, database: Database, brand: str) -> None:
        """Undoes a departure. No error without one."""
        async with database.transaction() as tx:
            await self.erased.stop_consumers(tx.connection)
            await tx.connection.execute(
                f"delete from erased_brands where brand_slug = $1 and {_FOR_EVER}",  # noqa: S608
                brand,
            )
        log.warning("brand_stays", brand=brand)
