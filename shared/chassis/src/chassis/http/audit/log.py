"""SQL of the audit log. It is append-only: the runtime role of a process can neither change nor delete rows."""

import json
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from chassis.database.pool import Connection, UnitOfWork

SHORTEST_KEPT: Final = timedelta(days=30)
"""The database deletes earlier entries only for its owner."""


@dataclass(frozen=True, slots=True)
class Change:
    """One request that changed something."""

    caller: str
    key_id: str
    operation: str
    """`PUT /v1/brands/{slug}`"""
    path: str
    address: str | None
    brand: str | None
    correlation_id: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class AuditLogEntry:
    id: int
    at: datetime
    change: Change


class AuditDatabase(Protocol):
    """The process's database."""

    def connection(self) -> AbstractAsyncContextManager[Connection]: ...

    def whole(self) -> AbstractAsyncContextManager[UnitOfWork]: ...

    def joined(self) -> UnitOfWork | None: ...


async def write(connection: Connection, change: Change) -> None:
    await connection.execute(
        """
        insert into audit_log (caller, key_id, operation, path, address, brand, correlation_id, before, after)
        values ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb, $9::text::jsonb)
        """,
        change.caller,
        change.key_id,
        change.operation,
        change.path,
        change.address,
        change.brand,
        change.correlation_id,
        None if change.before is None else json.dumps(change.before),
        None if change.after is None else json.dumps(change.after),
    )


async def page(
    connection: Connection,
    *,
    brands: Collection[str] | None = None,
    caller: str | None = None,
    operation: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[AuditLogEntry]:
    """Return a page of entries, latest first. `brands` limits them to these brands; None: all entries.

    Args:
        connection: to the process's database.
        brands: slugs.
        caller: name of the callers' keys.
        operation: method and path of the route.
        since: the earliest time of an entry.
        until: later than any entry.
        before: higher than the id of any entry.
        limit: the most entries.
    """
    wanted: list[tuple[str, object]] = [
        ("brand = any(${})", None if brands is None else list(brands)),
        ("caller = ${}", caller),
        ("operation = ${}", operation),
        ("at >= ${}", since),
        ("at < ${}", until),
        ("id < ${}", before),
    ]
    given = [(condition, value) for condition, value in wanted if value is not None]
    conditions = [condition.format(number) for number, (condition, _) in enumerate(given, 2)]
    rows = await connection.fetch(
        f"""
        select id, at, caller, key_id, operation, path, address, brand, correlation_id, before::text, after::text
        from audit_log where {" and ".join(["true", *conditions])} order by id desc limit $1
        """,  # noqa: S608  (conditions of this function)
        limit,
        *(value for _, value in given),
    )
    return [
        AuditLogEntry(
            row["id"],
            row["at"],
            Change(
                row["caller"],
                row["key_id"],
                row["operation"],
                row["path"],
                row["address"],
                row["brand"],
                row["correlation_id"],
                None if row["before"] is None else json.loads(row["before"]),
                None if row["after"] is None else json.loads(row["after"]),
            ),
        )
        for row in rows
    ]


async def forget(connection: Connection, kept: timedelta) -> None:
    """Delete older entries, some thousands at a time."""
    while await connection.fetchval("select forget_audit_log($1::interval)", kept):
        pass
