"""The SQL of dead messages."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from messaging import Connection, DeadLetter
from monitor.domain import State, innermost_frame


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """One row."""

    id: UUID
    number: int
    event_id: UUID | None
    queue: str
    type: str | None
    source: str | None
    correlation_id: str | None
    payload: bytes
    headers: dict[str, Any]
    reason: str
    exception_type: str | None
    detail: str
    stack: str | None
    frame: str | None
    attempts: int
    service: str | None
    first_failed_at: datetime | None
    failed_at: datetime
    recorded_at: datetime
    state: State
    replay_of: UUID | None
    replay_event_id: UUID | None
    replayed_at: datetime | None
    resolution: str | None
    resolved_at: datetime | None


_COLUMNS = ", ".join(field.name for field in fields(DeadMessage))


async def insert(connection: Connection, letters: Sequence[tuple[UUID, DeadLetter]]) -> None:
    """Records dead letters under the ids given; one that is recorded already stays as it is."""
    await connection.execute(
        """
        insert into dead_messages (id, event_id, queue, type, source, correlation_id, payload, headers, reason,
            exception_type, detail, stack, frame, attempts, service, first_failed_at, failed_at, replay_of)
        select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[],
            $8::json[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::int[], $15::text[],
            $16::timestamptz[], $17::timestamptz[], $18::uuid[])
        on conflict (id) do nothing
        """,
        [identity for identity, _ in letters],
        *_arrays([letter for _, letter in letters]),
    )


def _arrays(letters: Sequence[DeadLetter]) -> list[list[Any]]:
    """The columns after `id`, in the order of the insert."""
    return [
        [letter.dead_event_id for letter in letters],
        [letter.queue for letter in letters],
        [letter.message_type for letter in letters],
        [letter.source for letter in letters],
        [letter.correlation_id for letter in letters],
        [letter.body for letter in letters],
        [json.dumps(letter.headers) for letter in letters],
        [letter.reason.value for letter in letters],
        [letter.exception_type for letter in letters],
        [letter.detail for letter in letters],
        [letter.stack for letter in letters],
        [innermost_frame(letter.stack) for letter in letters],
        [min(letter.attempts, 2**31 - 1) for letter in letters],
        [letter.service for letter in letters],
        [letter.first_failed_at for letter in letters],
        [letter.failed_at for letter in letters],
        [letter.replay_of for letter in letters],
    ]


async def supersede(connection: Connection, replay_event_ids: Sequence[UUID]) -> None:
    """Closes the dead letters whose replays died: each replay is a dead letter of its own now."""
    await connection.execute(
        """
        update dead_messages as old
        set state = 'superseded', resolution = 'its replay died too: ' || new.id, resolved_at = now()
        from dead_messages as new
        where new.event_id = any($1::uuid[]) and old.replay_event_id = new.event_id and old.state = 'replaying'
        """,
        replay_event_ids,
    )


async def resolve(connection: Connection, replay_event_ids: Sequence[UUID]) -> None:
    """Closes the dead letters whose replays were handled."""
    await connection.execute(
        """
        update dead_messages set state = 'resolved', resolution = 'replayed', resolved_at = now()
        where replay_event_id = any($1::uuid[]) and state = 'replaying'
        """,
        replay_event_ids,
    )


async def get(connection: Connection, identity: UUID) -> DeadMessage | None:
    row = await connection.fetchrow(f"select {_COLUMNS} from dead_messages where id = $1", identity)  # noqa: S608
    return None if row is None else _message(row)


async def lock(connection: Connection, identity: UUID) -> DeadMessage | None:
    """Reads a dead letter and keeps others from deciding about it until the transaction ends."""
    # Two operators may click at the same time; the second must see what the first decided.
    query = f"select {_COLUMNS} from dead_messages where id = $1 for update"  # noqa: S608
    row = await connection.fetchrow(query, identity)
    return None if row is None else _message(row)


async def lock_open(
    connection: Connection,
    *,
    ids: Sequence[UUID] | None,
    queue: str | None,
    message_type: str | None,
    limit: int,
) -> list[DeadMessage]:
    """Open dead letters that can be replayed, oldest first; those another operator is deciding on are left out."""
    query = f"""
        select {_COLUMNS} from dead_messages
        where state = 'open' and event_id is not null
          and ($1::uuid[] is null or id = any($1)) and ($2::text is null or queue = $2)
          and ($3::text is null or type = $3)
        order by number limit $4 for update skip locked
        """  # noqa: S608
    return [_message(row) for row in await connection.fetch(query, ids, queue, message_type, limit)]


async def mark_replaying(connection: Connection, identity: UUID, replay_event_id: UUID) -> None:
    await connection.execute(
        "update dead_messages set state = 'replaying', replay_event_id = $2, replayed_at = now() where id = $1",
        identity,
        replay_event_id,
    )


async def mark_discarded(connection: Connection, identity: UUID, reason: str) -> None:
    await connection.execute(
        "update dead_messages set state = 'discarded', resolution = $2, resolved_at = now() where id = $1",
        identity,
        reason,
    )


async def newest(
    connection: Connection,
    *,
    state: State | None,
    queue: str | None,
    message_type: str | None,
    correlation_id: str | None,
    before: int | None,
    limit: int,
) -> list[DeadMessage]:
    """A page of dead letters, newest first; `before` is the `number` that the page before ended with."""
    query = f"""
        select {_COLUMNS} from dead_messages
        where ($1::text is null or state = $1) and ($2::text is null or queue = $2)
          and ($3::text is null or type = $3) and ($4::text is null or correlation_id = $4)
          and ($5::bigint is null or number < $5)
        order by number desc limit $6
        """  # noqa: S608
    rows = await connection.fetch(query, state, queue, message_type, correlation_id, before, limit)
    return [_message(row) for row in rows]


async def count_open(connection: Connection) -> int:
    count = await connection.fetchval("select count(*) from dead_messages where state = 'open'")
    assert isinstance(count, int)
    return count


async def summary(connection: Connection) -> list[dict[str, Any]]:
    """Open dead letters, grouped by what looks like the same failure, the largest group first."""
    rows = await connection.fetch(
        """
        select queue, type, reason, exception_type, frame, count(*) as count,
               min(failed_at) as first_failed_at, max(failed_at) as last_failed_at
        from dead_messages where state = 'open'
        group by queue, type, reason, exception_type, frame order by count(*) desc, queue limit 200
        """
    )
    return [dict(row) for row in rows]


def _message(row: Any) -> DeadMessage:
    values = dict(row) | {"headers": json.loads(row["headers"]), "state": State(row["state"])}
    return DeadMessage(**values)
