"""The record of sent messages: which ones the broker has confirmed, for the ledger.

Only first sends are in it. Retries, replays and dead letters belong to messages that were sent before.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from chassis.database.pool import Connection
from messaging.topology import DEAD_LETTERS, RETURNS

KEPT: Final = timedelta(days=2)
"""How long the record reaches back; shorter than the inbox, which must still know the outcome of each message."""
RATED: Final = timedelta(minutes=5)
MOST_IDS: Final = 1000
"""Messages of one page; the last batch may exceed it."""
_MOST_BATCHES: Final = 500
_DELETED_AT_ONCE: Final = 5000
START: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SentPlace(NamedTuple):
    """The place of a batch in the record."""

    sent_at: datetime
    id: int


@dataclass(frozen=True, slots=True)
class SentBatch:
    """Messages of a type that left together, with the same route."""

    place: SentPlace
    type: str
    event_ids: tuple[UUID, ...]
    correlation_ids: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class SentPage:
    batches: tuple[SentBatch, ...]
    next: SentPlace
    """Where the next page starts."""
    is_last: bool
    """Whether the record has no more batches that are old enough."""
    now: datetime


async def delete_confirmed(connection: Connection, ids: Collection[UUID], lease: UUID) -> None:
    """Deletes published rows of the outbox and records their messages, in one statement; leaves rows whose lease ran out.

    A row that two relays have published is recorded once, since only one of them deletes it.
    """
    await connection.execute(
        """
        with confirmed as (
            delete from outbox where id = any($1::uuid[]) and lease = $2
            returning exchange, routing_key, type, event_id, correlation_id
        )
        insert into sent_batches (exchange, routing_key, type, event_ids, correlation_ids)
        select exchange, routing_key, type, array_agg(event_id), array_agg(correlation_id) from confirmed
        where exchange not in ($3, $4) group by exchange, routing_key, type
        """,
        list(ids),
        lease,
        RETURNS,
        DEAD_LETTERS,
    )


async def page(
    connection: Connection,
    exchange: str,
    routing_key: str | None,
    after: SentPlace | None,
    *,
    older_than: timedelta,
) -> SentPage:
    """Returns the batches of a route after a place, the oldest first.

    Args:
        connection: to the service's database.
        exchange: the exchange.
        routing_key: None matches all.
        after: `next` of the page before; None: from the beginning.
        older_than: younger batches are left for later. It must be longer than a statement may take: a batch whose commit is late would be
            overtaken by later ones, and left out.
    """
    now: datetime = await connection.fetchval("select clock_timestamp()")
    until = now - older_than
    start = after or SentPlace(START, 0)
    rows = await connection.fetch(
        """
        select sent_at, id, type, event_ids, correlation_ids from (
            select *, sum(cardinality(event_ids)) over (order by sent_at, id) - cardinality(event_ids) as ids_before
            from (
                select sent_at, id, type, event_ids, correlation_ids from sent_batches
                where (sent_at, id) > ($1::timestamptz, $2::bigint) and sent_at < $3
                  and exchange = $4 and ($5::text is null or routing_key = $5)
                order by sent_at, id limit $6
            ) as oldest
        ) as counted where ids_before < $7 order by sent_at, id
        """,
        start.sent_at,
        start.id,
        until,
        exchange,
        routing_key,
        _MOST_BATCHES,
        MOST_IDS,
    )
    batches = tuple(
        SentBatch(
            SentPlace(row["sent_at"], row["id"]),
            row["type"] or "",
            tuple(row["event_ids"]),
            tuple(row["correlation_ids"] or [None] * len(row["event_ids"])),
        )
        for row in rows
    )
    is_last = len(batches) < _MOST_BATCHES and sum(len(each.event_ids) for each in batches) < MOST_IDS
    # What is older than `until` has been read, so that the next page need not look at other routes' batches again.
    following = max(start, SentPlace(until, 0)) if is_last else batches[-1].place
    return SentPage(batches, following, is_last, now)


async def forget_old(connection: Connection) -> None:
    """Deletes rows older than `KEPT`."""
    while True:
        status: str = await connection.execute(
            """
            delete from sent_batches where ctid = any (array(
                select ctid from sent_batches where sent_at < now() - $1::interval order by sent_at, id limit $2
            ))
            """,
            KEPT,
            _DELETED_AT_ONCE,
        )
        if int(status.rpartition(" ")[2]) < _DELETED_AT_ONCE:
            return


async def rates(connection: Connection) -> dict[str, float]:
    """Returns the messages in a minute by exchange, on average over the last five minutes; exchanges without any are left out."""
    rows = await connection.fetch(
        """
        select exchange, sum(cardinality(event_ids))::float8 / extract(epoch from $1::interval)::float8 * 60 as per_minute
        from sent_batches where sent_at >= clock_timestamp() - $1::interval group by exchange
        """,
        RATED,
    )
    return {row["exchange"]: row["per_minute"] for row in rows}
