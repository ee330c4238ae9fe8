"""Attempts at messages: those that failed, that followed on a failure, or whose handler ran long.

The many messages that took one short attempt cost no row.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from chassis.database.pool import Connection
from messaging.storage import partitions

AttemptOutcome = Literal["handled", "retried", "waiting", "dead"]
"""`waiting`: for something that is away; the attempt does not count."""
LONG: Final = timedelta(seconds=1)
"""A handler that runs for less, and succeeds at once, is not written down."""
MOST_SHOWN: Final = 20
"""Attempts of a message in a list, the last ones."""
_LONGEST_REASON: Final = 200
_DELETED_AT_ONCE: Final = 5000


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """An attempt that ends in the running transaction."""

    event_id: UUID
    attempt: int
    outcome: AttemptOutcome
    worked: timedelta | None = None
    """How long its handler ran; None: unknown."""
    ended_ago: timedelta = timedelta()
    """How long ago its handler ended."""
    reason: str | None = None
    next_after: timedelta | None = None
    """Time until the message may be tried again."""


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    attempt: int
    """From 1."""
    began_at: datetime | None
    """When its handler began, by the clock of the database."""
    ended_at: datetime
    outcome: AttemptOutcome
    reason: str | None
    """The type of the exception, or what the message waits for."""
    next_at: datetime | None
    """When the message may be tried again."""
    waits: int
    """How often the message waited for something that was away, as this attempt."""


async def note(connection: Connection, ended: Collection[EndedAttempt]) -> None:
    """Writes attempts down. One that waited before keeps its beginning, and counts its waits."""
    ordered = sorted(ended, key=lambda each: (each.event_id.int, each.attempt))
    await connection.execute(
        """
        insert into message_attempts as known (event_id, attempt, began_at, ended_at, outcome, reason, next_at, waits)
        select event_id, attempt, clock_timestamp() - ended_ago - worked, clock_timestamp() - ended_ago, outcome, reason,
               clock_timestamp() + next_after, (outcome = 'waiting')::integer
        from unnest($1::uuid[], $2::integer[], $3::interval[], $4::interval[], $5::text[], $6::text[], $7::interval[])
            as t (event_id, attempt, worked, ended_ago, outcome, reason, next_after)
        on conflict (event_id, attempt) do update set
            began_at = excluded.began_at, ended_at = excluded.ended_at, outcome = excluded.outcome, reason = excluded.reason,
            next_at = excluded.next_at, waits = known.waits + excluded.waits
        """,
        [each.event_id for each in ordered],
        [each.attempt for each in ordered],
        [each.worked for each in ordered],
        [each.ended_ago for each in ordered],
        [each.outcome for each in ordered],
        [None if each.reason is None else each.reason[:_LONGEST_REASON] for each in ordered],
        [each.next_after for each in ordered],
    )


async def find(connection: Connection, event_ids: Sequence[UUID]) -> dict[UUID, list[RecordedAttempt]]:
    """Returns the last attempts at messages, the first one first; messages without any are left out."""
    if not event_ids:
        return {}
    rows = await connection.fetch(
        """
        select * from (
            select *, row_number() over (partition by event_id order by attempt desc) as number
            from message_attempts where event_id = any($1::uuid[])
        ) as numbered where number <= $2 order by event_id, attempt
        """,
        list(event_ids),
        MOST_SHOWN,
    )
    found: dict[UUID, list[RecordedAttempt]] = {}
    for row in rows:
        found.setdefault(UUID(int=row["event_id"].int), []).append(
            RecordedAttempt(
                row["attempt"],
                row["began_at"],
                row["ended_at"],
                row["outcome"],
                row["reason"],
                row["next_at"],
                row["waits"],
            )
        )
    return found


async def forget_old(connection: Connection) -> None:
    """Deletes attempts that ended before the inbox begins."""
    while True:
        status: str = await connection.execute(
            """
            delete from message_attempts where ctid = any (array(
                select ctid from message_attempts where ended_at < now() - $1::interval order by ended_at limit $2
            ))
            """,
            partitions.RETENTION + timedelta(days=1),
            _DELETED_AT_ONCE,
        )
        if int(status.rpartition(" ")[2]) < _DELETED_AT_ONCE:
            return
