"""SQL for connected provider accounts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chassis import Connection


@dataclass(frozen=True, slots=True)
class CredentialRow:
    name: str
    kind: str
    settings: Mapping[str, Any]
    sealed: bytes | None
    key_end: str | None
    key_set_at: datetime | None
    address_of_operator: bool


async def rows(connection: Connection, name: str | None = None) -> list[CredentialRow]:
    found = await connection.fetch(
        """
        select name, kind, settings, sealed, key_end, key_set_at, address_of_operator from providers
        where $1::text is null or name = $1 order by name
        """,
        name,
    )
    return [
        CredentialRow(
            row["name"],
            row["kind"],
            json.loads(row["settings"]),
            None if row["sealed"] is None else bytes(row["sealed"]),
            row["key_end"],
            row["key_set_at"],
            row["address_of_operator"],
        )
        for row in found
    ]


async def put(
    connection: Connection,
    name: str,
    kind: str,
    settings: Mapping[str, Any],
    sealed: bytes | None,
    key_end: str | None,
    *,
    address_of_operator: bool,
) -> None:
    """Stores an account with this key, or none."""
    await connection.execute(
        """
        insert into providers (name, kind, settings, sealed, key_end, key_set_at, address_of_operator)
        values ($1, $2, $3::jsonb, $4, $5, case when $4::bytea is null then null else clock_timestamp() end, $6)
        on conflict (name) do update set kind = excluded.kind, settings = excluded.settings, sealed = excluded.sealed,
            key_end = excluded.key_end, key_set_at = excluded.key_set_at, connected_at = excluded.connected_at,
            address_of_operator = excluded.address_of_operator
        """,
        name,
        kind,
        json.dumps(settings),
        sealed,
        key_end,
        address_of_operator,
    )


async def set_settings(connection: Connection, name: str, settings: Mapping[str, Any]) -> None:
    await connection.execute(
        "update providers set settings = $2::jsonb where name = $1", name, json.dumps(settings)
    )


async def lock(connection: Connection, name: str) -> None:
    """Serializes changes of one account; its row may not exist yet, so there is nothing else to lock."""
    await connection.execute("select pg_advisory_xact_lock(hashtextextended('provider ' || $1, 0))", name)


async def remove(connection: Connection, name: str) -> bool:
    return await connection.fetchval("delete from providers where name = $1 returning true", name) is True


async def replace_sealed(connection: Connection, name: str, before: bytes, after: bytes) -> bool:
    """Returns False if the key was replaced in the meantime."""
    return (
        await connection.fetchval(
            "update providers set sealed = $3 where name = $1 and sealed = $2 returning true",
            name,
            before,
            after,
        )
        is True
    )
