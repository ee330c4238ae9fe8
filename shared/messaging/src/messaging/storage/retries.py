"""Retries: rows of the outbox that return a message to its own queue, after a failed attempt or a wait."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from chassis.database.pool import Connection
from messaging import headers as header
from messaging.topology import RETURNS

MOST_COUNTED: Final = 10_000
_IS_RETRY: Final = "exchange = $1 and headers ->> $2 is not null"
"""A replay of a dead letter returns to its queue, too, but has no number of an attempt yet."""
_COLUMNS: Final = (
    "id, event_id, type, routing_key, correlation_id, body, headers, created_at, deliver_at, last_error,"
    " lease is not null and due_at > clock_timestamp() as is_sending"
)
_MATCHES: Final = (
    f"{_IS_RETRY} and ($3::text is null or type = $3) and ($4::text is null or correlation_id = $4)"
)


@dataclass(frozen=True, slots=True)
class Retry:
    """A message that waits for its next attempt."""

    id: UUID
    """Of the row; the same message has another one for its next wait."""
    event_id: UUID
    type: str
    queue: str
    correlation_id: str | None
    body: bytes
    headers: Mapping[str, Any]
    created_at: datetime
    deliver_at: datetime
    is_sending: bool
    """Whether a relay has taken it."""
    publish_error: str | None
    """Why the last try to hand it to the broker failed."""

    @property
    def brand(self) -> str | None:
        """The `brand_slug` of its payload, if it names one."""
        try:
            found = json.loads(self.body)["payload"]["brand_slug"]
        except (ValueError, LookupError, TypeError, RecursionError):
            return None
        return found if isinstance(found, str) else None

    @property
    def attempt(self) -> int:
        """The number of the next attempt, from 1: a wait for something that is away counts none."""
        return header.integer(self.headers, header.ATTEMPT, default=1)


@dataclass(frozen=True, slots=True)
class RetryPage:
    items: tuple[Retry, ...]
    matching: int
    """All that match, counted up to `MOST_COUNTED`."""
    now: datetime


@dataclass(frozen=True, slots=True)
class RetrySelection:
    """Messages that an operator acts on: those of these ids, or all that match; None means any."""

    ids: tuple[UUID, ...] | None = None
    """Of the rows."""
    type_name: str | None = None
    correlation_id: str | None = None
    until: datetime | None = None
    """Only those that have waited since then: a message that waits anew is not selected again."""
    after: UUID | None = None
    """Only rows that follow this one."""


async def page(
    connection: Connection,
    *,
    type_name: str | None = None,
    correlation_id: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int,
) -> RetryPage:
    """Returns the retries that match, the next to be due first.

    There is no index for this: each one would cost every message, and the rows that wait are few beside those.

    Args:
        connection: to the service's database.
        type_name: only messages of this type.
        correlation_id: only messages of this chain.
        after: time and id of the last row of the page before.
        limit: the most rows.
    """
    conditions = (RETURNS, header.ATTEMPT, type_name, correlation_id)
    moment, row_id = after or (None, None)
    rows = await connection.fetch(
        f"""
        select {_COLUMNS} from outbox where {_MATCHES} and ($5::timestamptz is null or (deliver_at, id) > ($5, $6::uuid))
        order by deliver_at, id limit $7
        """,  # noqa: S608  (constants)
        *conditions,
        moment,
        row_id,
        limit,
    )
    counted = await connection.fetchrow(
        f"select count(*) as matching, clock_timestamp() as now from (select 1 from outbox where {_MATCHES} limit $5) as rows",  # noqa: S608
        *conditions,
        MOST_COUNTED,
    )
    assert counted is not None
    return RetryPage(tuple(map(_retry, rows)), counted["matching"], counted["now"])


async def choose(connection: Connection, selection: RetrySelection, limit: int) -> list[UUID]:
    """The ids of the selection, or of up to `limit` rows that match, in their order."""
    if selection.ids is not None:
        return sorted(set(selection.ids), key=lambda each: each.int)
    rows = await connection.fetch(
        f"select id from outbox where {_MATCHES} and ($5::timestamptz is null or created_at <= $5)"  # noqa: S608  (constants)
        " and ($6::uuid is null or id > $6) order by id limit $7",
        RETURNS,
        header.ATTEMPT,
        selection.type_name,
        selection.correlation_id,
        selection.until,
        selection.after,
        limit,
    )
    return [row["id"] for row in rows]


async def lock(connection: Connection, ids: Sequence[UUID]) -> list[Retry]:
    """Locks those of the rows that still wait and that no relay has taken; others that hold one are waited for."""
    rows = await connection.fetch(
        f"select {_COLUMNS} from outbox where {_IS_RETRY} and id = any($3::uuid[]) and lease is null"  # noqa: S608  (constants)
        " order by id for update",
        RETURNS,
        header.ATTEMPT,
        list(ids),
    )
    return list(map(_retry, rows))


async def existing(connection: Connection, ids: Collection[UUID]) -> set[UUID]:
    """Those of the rows that are there, taken or not."""
    rows = await connection.fetch(
        f"select id from outbox where {_IS_RETRY} and id = any($3::uuid[])",  # noqa: S608  (constants)
        RETURNS,
        header.ATTEMPT,
        list(ids),
    )
    return {row["id"] for row in rows}


async def make_due(connection: Connection, ids: Sequence[UUID]) -> None:
    """Makes locked rows due; a time in the past stays, since the list is in that order."""
    await connection.execute(
        "update outbox set deliver_at = least(deliver_at, clock_timestamp()), due_at = least(due_at, clock_timestamp())"
        " where id = any($1::uuid[])",
        list(ids),
    )


async def delete(connection: Connection, ids: Sequence[UUID]) -> None:
    await connection.execute("delete from outbox where id = any($1::uuid[])", list(ids))


def _retry(row: Any) -> Retry:
    return Retry(
        id=row["id"],
        event_id=row["event_id"],
        type=row["type"],
        queue=row["routing_key"],
        correlation_id=row["correlation_id"],
        body=row["body"],
        headers=json.loads(row["headers"]),
        created_at=row["created_at"],
        deliver_at=row["deliver_at"],
        is_sending=row["is_sending"],
        publish_error=row["last_error"],
    )
