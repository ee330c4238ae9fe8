"""SQL that records dead letters and what became of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, assert_never
from uuid import UUID

from pydantic import JsonValue

from chassis import Connection
from envelope import DeadLetterResolved
from monitor.dead_letters.domain import (
    DeadLetterSnapshot,
    DeadLetterState,
    DeadMessageId,
    InitialState,
    handled_resolution,
    replaced_resolution,
)
from monitor.dead_letters.masking import RULES

# Dead letters and reports of handled replays arrive over different queues, and each must see the other's rows. So reports
# take this lock alone, while any number of batches of dead letters share it.
_ORDER: Final = 7_305_811_405


STANDING: Final = "id, state, replayable, replayed_at, replay_event_id, resolution, asked_at"


_WRITTEN: Final = (
    "id, event_id, queue, type, source, correlation_id, payload, headers, reason, exception_type, detail, stack, frame,"
    " attempts, service, first_failed_at, failed_at, replayable, state, replay_of, resolution, brand_slug, asked_at,"
    " code, version, masked, masking"
)


"""Columns of `NewDeadLetter` in the order of `_columns`; `work_ids` comes last."""


@dataclass(frozen=True, slots=True)
class NewDeadLetter:
    """A dead letter to insert."""

    id: DeadMessageId
    event_id: UUID | None
    queue: str
    type: str | None
    source: str | None
    correlation_id: str | None
    payload: bytes
    headers: JsonValue
    reason: str
    exception_type: str | None
    detail: str
    stack: str | None
    frame: str | None
    attempts: int
    service: str | None
    first_failed_at: datetime | None
    failed_at: datetime
    replayable: bool
    beginning: InitialState
    brand: str | None = None
    """The brand that the payload names."""
    work_ids: Sequence[UUID] = ()
    """Its pieces of work, as `finished_work` stores them."""
    asked_at: datetime | None = None
    code: str | None = None
    """Hash of the source in which it failed."""
    version: str | None = None
    masked: bytes | None = None
    """The body as it is shown; None if nothing is hidden."""


async def lock_shared(connection: Connection) -> None:
    await connection.execute("select pg_advisory_xact_lock_shared($1)", _ORDER)


async def lock_exclusive(connection: Connection) -> None:
    await connection.execute("select pg_advisory_xact_lock($1)", _ORDER)


async def handled_messages(connection: Connection, event_ids: Sequence[UUID]) -> dict[tuple[UUID, str], UUID]:
    """(event_id, queue) of handled messages → the message that a consumer handled in their place."""
    rows = await connection.fetch(
        "select replay_event_id as event_id, queue, replay_event_id from handled_replays"
        " where replay_event_id = any($1)"
        " union all"
        " select dead_event_id, queue, replay_event_id from handled_replays where dead_event_id = any($1)"
        " union all select event_id, queue, handled_as from settled_messages where event_id = any($1)",
        event_ids,
    )
    return {(row["event_id"], row["queue"]): row["replay_event_id"] for row in rows}


async def earlier_dead_letters(
    connection: Connection, event_ids: Sequence[UUID]
) -> dict[tuple[UUID, str], DeadLetterSnapshot]:
    """(event_id, queue) of replays → the dead letter that each repeats, locked."""
    rows = await connection.fetch(
        f"select queue, {STANDING} from dead_messages where replay_event_id = any($1)"  # noqa: S608 - constants
        " order by id for update",
        event_ids,
    )
    return {(row["replay_event_id"], row["queue"]): standing_of(row) for row in rows}


async def insert(connection: Connection, rows: Sequence[NewDeadLetter]) -> set[UUID]:
    """Inserts dead letters; returns the ids of those that are new."""
    inserted = await connection.fetch(
        f"insert into dead_messages ({_WRITTEN}, work_ids, resolved_at)"  # noqa: S608 - constants
        f" select {_WRITTEN}, work_ids::uuid[], case when resolution is not null then now() end"
        " from unnest($1::uuid[], $2::uuid[], $3::text[],"
        " $4::text[], $5::text[], $6::text[], $7::bytea[], $8::jsonb[], $9::text[], $10::text[], $11::text[],"
        " $12::text[], $13::text[], $14::integer[], $15::text[], $16::timestamptz[], $17::timestamptz[],"
        " $18::boolean[], $19::text[], $20::uuid[], $21::text[], $22::text[], $23::timestamptz[], $24::text[], $25::text[],"
        " $26::bytea[], $27::smallint[], $28::text[])"
        f" as f ({_WRITTEN}, work_ids)"
        " on conflict (id) do nothing returning id",
        *_columns(rows),
    )
    return {row["id"] for row in inserted}


def _columns(rows: Sequence[NewDeadLetter]) -> list[list[Any]]:
    return [
        [row.id for row in rows],
        [row.event_id for row in rows],
        [row.queue for row in rows],
        [row.type for row in rows],
        [row.source for row in rows],
        [row.correlation_id for row in rows],
        [row.payload for row in rows],
        [json.dumps(row.headers, allow_nan=False) for row in rows],
        [row.reason for row in rows],
        [row.exception_type for row in rows],
        [row.detail for row in rows],
        [row.stack for row in rows],
        [row.frame for row in rows],
        [row.attempts for row in rows],
        [row.service for row in rows],
        [row.first_failed_at for row in rows],
        [row.failed_at for row in rows],
        [row.replayable for row in rows],
        [row.beginning.state.value for row in rows],
        [row.beginning.replay_of for row in rows],
        [row.beginning.resolution for row in rows],
        [row.brand for row in rows],
        [row.asked_at for row in rows],
        [row.code for row in rows],
        [row.version for row in rows],
        [row.masked for row in rows],
        [RULES for _ in rows],
        # PostgreSQL has no array of arrays of different lengths, so they are passed as text.
        [f"{{{','.join(map(str, row.work_ids))}}}" for row in rows],
    ]


async def close_replaced(connection: Connection, successors: Mapping[DeadMessageId, DeadMessageId]) -> None:
    """Resolves earlier dead letters after their replays died: earlier id → id of the new dead letter."""
    if successors:
        await connection.execute(
            "update dead_messages d set state = 'resolved', resolution = f.resolution, resolved_at = now()"
            " from unnest($1::uuid[], $2::text[]) as f (id, resolution) where d.id = f.id",
            list(successors),
            [replaced_resolution(successor) for successor in successors.values()],
        )


async def record_handled(connection: Connection, notices: Sequence[DeadLetterResolved]) -> None:
    await connection.execute(
        "insert into handled_replays (replay_event_id, dead_event_id, queue)"
        " select * from unnest($1::uuid[], $2::uuid[], $3::text[]) on conflict do nothing",
        [notice.replay_event_id for notice in notices],
        [notice.dead_event_id for notice in notices],
        [notice.queue for notice in notices],
    )
    # A command may resolve the dead letters of several commands that it replaces.
    further = await connection.fetch(
        "select distinct on (dead_event_id, queue) dead_event_id, queue, replay_event_id"
        " from unnest($1::uuid[], $2::uuid[], $3::text[]) as n (replay_event_id, dead_event_id, queue)"
        " where not exists (select from handled_replays as h"
        " where (h.replay_event_id, h.dead_event_id, h.queue) = (n.replay_event_id, n.dead_event_id, n.queue))",
        [notice.replay_event_id for notice in notices],
        [notice.dead_event_id for notice in notices],
        [notice.queue for notice in notices],
    )
    if further:
        await connection.executemany(
            "insert into settled_messages (event_id, queue, handled_as) values ($1, $2, $3) on conflict do nothing",
            [(row["dead_event_id"], row["queue"], row["replay_event_id"]) for row in further],
        )


async def resolve_handled(connection: Connection, replay_event_ids: Sequence[UUID]) -> None:
    """Resolves the dead letters that these handled replays settle.

    These are the dead letter that a replay repeats, and open ones of the replay or the original itself.
    A discarded dead letter counts as resolved if a consumer handled its replay late.
    """
    words = await connection.fetch(
        "select replay_event_id, dead_event_id, queue from handled_replays where replay_event_id = any($1)"
        " union all select handled_as, event_id, queue from settled_messages where handled_as = any($1)",
        replay_event_ids,
    )
    # The query selects by id alone and `_settled` checks the states: with stale statistics, a condition on the state would make
    # the planner scan all replayed rows for each batch.
    rows = await connection.fetch(
        "select id, queue, state, event_id, replay_event_id from dead_messages where replay_event_id = any($1)"
        " union"
        " select id, queue, state, event_id, replay_event_id from dead_messages where event_id = any($2)",
        [word["replay_event_id"] for word in words],
        [word[name] for word in words for name in ("replay_event_id", "dead_event_id")],
    )
    settled = _settled(rows, words)
    # An operator may decide about one at the same time: the second statement waits, and sees the first one's result.
    await connection.execute(
        "update dead_messages d set state = 'resolved', resolution = f.resolution, resolved_at = now()"
        " from unnest($1::uuid[], $2::text[]) as f (id, resolution)"
        " where d.id = f.id and (d.state in ('open', 'discarded') or d.replay_event_id = any($3))",
        list(settled),
        [handled_resolution(by) for by in settled.values()],
        replay_event_ids,
    )


def _settled(rows: Sequence[Any], words: Sequence[Any]) -> dict[UUID, UUID]:
    """Id of each dead letter among the rows that these reports resolve → the replay that resolves it."""
    replays = {(word["replay_event_id"], word["queue"]): word["replay_event_id"] for word in words}
    originals = {(word["dead_event_id"], word["queue"]): word["replay_event_id"] for word in words}
    settled: dict[UUID, UUID] = {}
    for row in rows:
        by: UUID | None = None
        match DeadLetterState(row["state"]):
            case DeadLetterState.REPLAYING | DeadLetterState.DISCARDED:
                by = replays.get((row["replay_event_id"], row["queue"]))
            case DeadLetterState.OPEN:
                dead = (row["event_id"], row["queue"])
                by = replays.get(dead) or originals.get(dead)
            case DeadLetterState.RESOLVED:
                pass
            case other:
                assert_never(other)
        if by is not None:
            settled[row["id"]] = by
    return settled


async def rename_queues(connection: Connection, names: Mapping[str, str]) -> list[UUID]:
    """Renames queues (former → current name) in all tables; returns the ids of replays among the changed rows."""
    former, today = list(names), list(names.values())
    handled = await connection.fetch(
        "update handled_replays h set queue = f.today from unnest($1::text[], $2::text[]) as f (former, today)"
        " where h.queue = f.former returning h.replay_event_id",
        former,
        today,
    )
    dead = await connection.fetch(
        "update dead_messages d set queue = f.today from unnest($1::text[], $2::text[]) as f (former, today)"
        " where d.queue = f.former returning d.replay_event_id",
        former,
        today,
    )
    further = await connection.fetch(
        "update settled_messages s set queue = f.today from unnest($1::text[], $2::text[]) as f (former, today)"
        " where s.queue = f.former returning s.handled_as as replay_event_id",
        former,
        today,
    )
    return [
        row["replay_event_id"] for row in (*handled, *dead, *further) if row["replay_event_id"] is not None
    ]


async def delete_settled(connection: Connection, older_than: timedelta) -> None:
    await connection.execute(
        "delete from dead_messages where state in ('resolved', 'discarded') and resolved_at < now() - $1::interval",
        older_than,
    )
    await connection.execute(
        "delete from handled_replays where handled_at < now() - $1::interval", older_than
    )
    await connection.execute(
        "delete from settled_messages where handled_at < now() - $1::interval", older_than
    )


def standing_of(row: Any) -> DeadLetterSnapshot:
    return DeadLetterSnapshot(
        id=DeadMessageId(row["id"]),
        state=DeadLetterState(row["state"]),
        replayable=row["replayable"],
        replayed_at=row["replayed_at"],
        replay_event_id=row["replay_event_id"],
        resolution=row["resolution"],
        asked_at=row["asked_at"],
    )
