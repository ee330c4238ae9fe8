"""The table `dead_letter_origins`: the messages that this service has dead-lettered, to recognise their replays.

The transaction that dead-letters a message writes its row; the one that stores its replay's outcome settles it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from chassis.database.pool import Connection
from messaging.headers import REPLAY_OF

KEPT_SETTLED: Final = timedelta(days=30)
"""Longer than the inbox keeps a row: see `died_before_upgrade`."""
KEPT_UNSETTLED: Final = timedelta(days=400)
"""How long a dead letter can be replayed without an administrator's approval."""


class PublishOrigin(NamedTuple):
    """Facts that the broker verifies about a delivered message."""

    exchange: str
    routing_key: str
    user_id: str | None


class EditRecord(NamedTuple):
    """Who edited a dead letter, and when."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class DeadLetterOrigin:
    """A message that this service has dead-lettered.

    Attributes:
        event_id: its id.
        digest: of its content (`messaging.flow.replays.content_digest`); None: an administrator accepts any content.
        arrival: its origin, if it failed the sender check; None if it passed.
        settled_by: the replay, or the edited message, that has settled it.
        edit: how it was edited; None if it was not.
    """

    event_id: UUID
    digest: bytes | None
    arrival: PublishOrigin | None = None
    settled_by: UUID | None = None
    edit: EditRecord | None = None


async def insert(connection: Connection, rows: Sequence[DeadLetterOrigin]) -> None:
    """Records messages that die in the running transaction."""
    ordered = sorted(rows, key=lambda row: row.event_id.int)
    arrivals = [row.arrival or PublishOrigin("", "", None) for row in ordered]
    await connection.execute(
        """
        insert into dead_letter_origins (event_id, digest, exchange, routing_key, user_id, settled_by)
        select event_id, digest, nullif(exchange, ''), nullif(routing_key, ''), user_id, settled_by
        from unnest($1::uuid[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::uuid[])
             as t (event_id, digest, exchange, routing_key, user_id, settled_by)
        on conflict (event_id) do nothing
        """,
        [row.event_id for row in ordered],
        [row.digest for row in ordered],
        [arrival.exchange for arrival in arrivals],
        [arrival.routing_key for arrival in arrivals],
        [arrival.user_id for arrival in arrivals],
        [row.settled_by for row in ordered],
    )


async def find(
    connection: Connection, event_ids: Collection[UUID], digests: Collection[bytes]
) -> list[DeadLetterOrigin]:
    """The rows of these events, settled or not, and the unsettled ones with these digests."""
    rows = await connection.fetch(
        """
        select event_id, digest, exchange, routing_key, user_id, settled_by, edited_by, edited_at
        from dead_letter_origins where event_id = any($1::uuid[])
        union
        select event_id, digest, exchange, routing_key, user_id, settled_by, edited_by, edited_at
        from dead_letter_origins where digest = any($2::bytea[]) and settled_by is null
        order by event_id
        """,
        list(event_ids),
        list(digests),
    )
    return [
        DeadLetterOrigin(
            row["event_id"],
            row["digest"],
            PublishOrigin(row["exchange"], row["routing_key"] or "", row["user_id"])
            if row["exchange"]
            else None,
            row["settled_by"],
            EditRecord(row["edited_by"], row["edited_at"]) if row["edited_at"] else None,
        )
        for row in rows
    ]


async def died_before_upgrade(connection: Connection, events: Mapping[UUID, str]) -> set[UUID]:
    """The events (id → type) that a version without this table has dead-lettered.

    The inbox has a row for them and this table has none. Newer versions write both in one transaction, and keep this row longer than the
    inbox row.
    """
    rows = await connection.fetch(
        """
        select event_id from processed_events
        join unnest($1::uuid[], $2::text[]) as wanted (event_id, type) using (event_id, type)
        where outcome = 'dead'
          and not exists (select from dead_letter_origins as known where known.event_id = processed_events.event_id)
        """,
        list(events),
        list(events.values()),
    )
    return {row["event_id"] for row in rows}


async def lock(connection: Connection, event_ids: Collection[UUID]) -> dict[UUID, UUID | None]:
    """Event id → the replay that has settled it, for the rest of the running transaction; others wait here."""
    rows = await connection.fetch(
        "select event_id, settled_by from dead_letter_origins where event_id = any($1::uuid[])"
        " order by event_id for update",
        list(event_ids),
    )
    return {row["event_id"]: row["settled_by"] for row in rows}


async def settle(connection: Connection, replays: Mapping[UUID, UUID]) -> None:
    """Records which replay has settled which event (event id → `event_id` of the replay)."""
    ordered = sorted(replays, key=lambda event_id: event_id.int)
    await connection.execute(
        """
        update dead_letter_origins as origin set settled_by = replay.replay_event_id
        from unnest($1::uuid[], $2::uuid[]) as replay (event_id, replay_event_id)
        where origin.event_id = replay.event_id and origin.settled_by is null
        """,
        ordered,
        [replays[event_id] for event_id in ordered],
    )


async def settle_by_edit(
    connection: Connection, event_ids: Collection[UUID], edited_event_id: UUID, by: str
) -> datetime:
    """Records that the edited message takes the place of locked dead letters; returns the database's time."""
    edited_at: datetime = await connection.fetchval(
        "update dead_letter_origins set settled_by = $2, edited_by = $3, edited_at = now()"
        " where event_id = any($1::uuid[]) returning edited_at",
        list(event_ids),
        edited_event_id,
        by,
    )
    return edited_at


async def waiting_replay(connection: Connection, event_ids: Collection[UUID]) -> UUID | None:
    """The `event_id` of a replay of these events that waits in the outbox for its next attempt; None if none does."""
    found: UUID | None = await connection.fetchval(
        "select event_id from outbox where headers->>$2 = any($1::text[]) limit 1",
        [str(event_id) for event_id in event_ids],
        REPLAY_OF,
    )
    return found


async def accept(connection: Connection, event_ids: Collection[UUID]) -> list[UUID]:
    """Accepts the next replay of each event, with any content and origin, on behalf of an administrator.

    Returns the events that stay as they are: they were edited, and no replay of the original may follow.
    """
    rows = await connection.fetch(
        """
        insert into dead_letter_origins (event_id) select unnest($1::uuid[])
        on conflict (event_id) do update set digest = null, exchange = null, routing_key = null, user_id = null,
                                             settled_by = null, dead_at = now()
        where dead_letter_origins.edited_at is null
        returning event_id
        """,
        list(event_ids),
    )
    accepted = {row["event_id"] for row in rows}
    return [event_id for event_id in event_ids if event_id not in accepted]


async def forget_old(connection: Connection) -> None:
    """Removes rows settled long ago, and rows without a replay for longer than a year."""
    await connection.execute(
        "delete from dead_letter_origins where dead_at < now() - case when settled_by is null then $1::interval"
        " else $2::interval end",
        KEPT_UNSETTLED,
        KEPT_SETTLED,
    )
