"""SQL that writes dead letters and their states, for handlers and operations."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Final, assert_never
from uuid import UUID

from pydantic import JsonValue

from chassis import Connection
from envelope import NO_LIMITS, ChainLimits, DeadLetterResolved
from envelope.brand import CATALOGUE
from messaging.headers import BAGGAGE, TRACEPARENT, TRACESTATE, Reason
from messaging.topology import work_queues
from monitor.dead_letters.domain import (
    DeadLetterSnapshot,
    DeadLetterState,
    DeadMessageId,
    InitialState,
    handled_resolution,
    replaced_resolution,
)
from monitor.dead_letters.filtering import DeadLetterFilter, bounded_search
from monitor.dead_letters.masking import RULES

# Dead letters and reports of handled replays arrive over different queues, and each must see the other's rows. So reports
# take this lock alone, while any number of batches of dead letters share it.
_ORDER: Final = 7_305_811_405
_STANDING: Final = "id, state, replayable, replayed_at, replay_event_id, resolution, asked_at"
_CLAIMED: Final = (
    f"{_STANDING}, queue, reason, payload, headers->>'{TRACEPARENT}' as traceparent, headers->>'{TRACESTATE}' as tracestate,"
    f" headers->>'{BAGGAGE}' as baggage, clock_timestamp() as now"
)
_WORK: Final = "id, event_id, queue, work_ids, asked_at"
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


@dataclass(frozen=True, slots=True)
class LockedDeadLetter:
    """A dead letter under its row lock."""

    standing: DeadLetterSnapshot
    queue: str
    payload: bytes
    trace: dict[str, str]
    """The headers of its trace; empty if it has none."""
    now: datetime
    """The database's time."""
    reason: str = ""
    """Why it died."""


_ALL_OPEN: Final = DeadLetterFilter(DeadLetterState.OPEN)


@dataclass(frozen=True, slots=True)
class DeadLetterSelection:
    """Dead letters to decide about, the oldest first; None means any."""

    wanted: DeadLetterFilter = _ALL_OPEN
    """As in the list, so that "all that match" means the same there and here; its state is that of those to decide about."""
    ids: tuple[UUID, ...] | None = None
    until: datetime | None = None
    """Only those that have been in that state since then, so that a replay that dies at once is not selected again."""
    after: UUID | None = None
    """Only those that follow this one."""


@dataclass(frozen=True, slots=True)
class WorkOfDeadLetter:
    """What decides whether the work of a dead letter was done since."""

    id: DeadMessageId
    event_id: UUID | None
    queue: str
    work_ids: Sequence[UUID]
    asked_at: datetime | None


@dataclass(frozen=True, slots=True)
class OperatorDecision:
    """The name and the reason that an operator gave; None if not given. The name is not verified."""

    by: str | None = None
    why: str | None = None


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
        f"select queue, {_STANDING} from dead_messages where replay_event_id = any($1)"  # noqa: S608 - constants
        " order by id for update",
        event_ids,
    )
    return {(row["replay_event_id"], row["queue"]): _standing(row) for row in rows}


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


async def lock_dead_letter(
    connection: Connection, dead: UUID, brands: Collection[str] | None = None
) -> LockedDeadLetter | None:
    """Locks a dead letter if it belongs to one of the brands; waits for another transaction that holds it."""
    row = await connection.fetchrow(
        f"select {_CLAIMED} from dead_messages"  # noqa: S608 - constants
        " where id = $1 and ($2::text[] is null or brand_slug = any ($2)) for update",
        dead,
        None if brands is None else list(brands),
    )
    return None if row is None else _claimed(row)


async def lock_open(
    connection: Connection,
    selection: DeadLetterSelection,
    limit: int,
    most_bytes: int,
    limits: ChainLimits = NO_LIMITS,
    redirect_to: str | None = None,
) -> tuple[list[LockedDeadLetter], bool]:
    """Locks up to `limit` of the selected open and replayable dead letters, the oldest first; skips locked rows.

    Dead letters with the reason `false_claim` are included only by id or group: their consumer would refuse most of them.
    Those that were over a limit of their chain are included only with a new one among the `limits`, and those of a queue that is gone
    only if they are to go to the queue from which their type is handled now; with `redirect_to` no others are.

    Returns:
        As many as fit into `most_bytes` of bodies, at least one; and whether there may be more.
    """
    where, values = await _replayable(connection, selection, limits, redirect_to)
    async with bounded_search(connection, is_search=selection.wanted.is_search):
        found = await connection.fetch(
            f"select d.id, octet_length(d.payload) as size from dead_messages d where {where}"  # noqa: S608 - constants
            f" order by recorded_at, id limit ${len(values) + 1} for update skip locked",
            *values,
            limit,
        )
    sizes = accumulate(row["size"] for row in found)
    chosen = [row["id"] for row, size in zip(found, sizes, strict=True) if size <= most_bytes]
    chosen = chosen or [row["id"] for row in found[:1]]
    # A second statement reads the rows as they are since they were locked.
    rows = await connection.fetch(
        f"select {_CLAIMED} from dead_messages where id = any($1::uuid[]) order by recorded_at, id",  # noqa: S608 - constants
        chosen,
    )
    return [_claimed(row) for row in rows], len(found) == limit or len(chosen) < len(found)


async def count_replayable(connection: Connection, selection: DeadLetterSelection) -> int:
    """How many `lock_open` would return without new limits, and without its bounds."""
    return await _count(connection, selection, *await _replayable(connection, selection, NO_LIMITS))


async def count_selected(
    connection: Connection, selection: DeadLetterSelection, state: DeadLetterState
) -> int:
    """How many of the selected dead letters are in that state."""
    return await _count(connection, selection, *await _selected(connection, selection, state))


async def _count(
    connection: Connection, selection: DeadLetterSelection, where: str, values: Sequence[Any]
) -> int:
    async with bounded_search(connection, is_search=selection.wanted.is_search):
        return int(
            await connection.fetchval(f"select count(*) from dead_messages d where {where}", *values)  # noqa: S608 - constants
        )


async def _replayable(
    connection: Connection,
    selection: DeadLetterSelection,
    limits: ChainLimits,
    redirect_to: str | None = None,
) -> tuple[str, list[Any]]:
    where, values = await _selected(connection, selection)
    if selection.ids is None and selection.wanted.group is None:
        where += f" and d.reason <> '{Reason.FALSE_CLAIM.value}'"
    if limits.deadline is None:
        where += f" and d.reason <> '{Reason.DEADLINE_PASSED.value}'"
    if limits.max_cost is None:
        where += f" and d.reason <> '{Reason.COST_REACHED.value}'"
    # Nobody would take a replay for a queue that is gone.
    values.append([name for queue in work_queues(CATALOGUE) for name in CATALOGUE.names_of(queue)])
    if redirect_to is None:
        return f"replayable and {where} and d.queue = any(${len(values)}::text[])", values
    values.append([name for name in CATALOGUE if CATALOGUE[name].queue == redirect_to])
    n = len(values)
    return (
        f"replayable and {where} and d.queue <> all(${n - 1}::text[]) and d.type = any(${n}::text[])",
        values,
    )


async def discard_open(
    connection: Connection, selection: DeadLetterSelection, limit: int, decision: OperatorDecision
) -> list[UUID]:
    """Discards up to `limit` of the selected open dead letters, the oldest first; skips locked rows. Returns their ids."""
    where, values = await _selected(connection, selection)
    n = len(values)
    async with bounded_search(connection, is_search=selection.wanted.is_search):
        rows = await connection.fetch(
            "with chosen as materialized ("  # noqa: S608 - constants
            f"select id, recorded_at from dead_messages d where {where} order by recorded_at, id limit ${n + 1}"
            " for update skip locked), closed as ("
            f" update dead_messages d set state = 'discarded', resolution = ${n + 2}, resolved_at = clock_timestamp(),"
            f" decided_by = ${n + 3}, decided_why = ${n + 2} from chosen where d.id = chosen.id)"
            " select id from chosen order by recorded_at, id",
            *values,
            limit,
            decision.why,
            decision.by,
        )
    return [row["id"] for row in rows]


async def _selected(
    connection: Connection, selection: DeadLetterSelection, state: DeadLetterState = DeadLetterState.OPEN
) -> tuple[str, list[Any]]:
    """The condition of a row `d` in that state, and the values of its parameters.

    It names only the conditions that are set, so that one of the indexes fits and each page continues after the last.
    """
    where, values = replace(selection.wanted, state=state).condition()
    conditions = [where]

    def add(condition: str, *more: Any) -> None:
        numbers = [f"${len(values) + number}" for number in range(1, len(more) + 1)]
        conditions.append(condition.format(*numbers))
        values.extend(more)

    if selection.ids is not None:
        add("d.id = any({}::uuid[])", selection.ids)
    if selection.until is not None:
        since = (
            "d.resolved_at"
            if state is DeadLetterState.DISCARDED
            # One that was restored is open since then.
            else "coalesce(d.restored_at, d.recorded_at)"
        )
        add(f"{since} <= {{}}", selection.until)
    if selection.after is not None:
        last = await connection.fetchval(
            "select recorded_at from dead_messages where id = $1 and ($2::text[] is null or brand_slug = any ($2))",
            selection.after,
            None if selection.wanted.brands is None else list(selection.wanted.brands),
        )
        add("(d.recorded_at, d.id) > ({}::timestamptz, {}::uuid)", last, selection.after)
    return " and ".join(conditions), values


async def mark_replaying(
    connection: Connection,
    replays: Mapping[DeadMessageId, UUID],
    decision: OperatorDecision,
    redirect_to: str | None = None,
) -> None:
    """Notes the replays. One that went to another queue is a dead letter of that queue from now on, since its consumer reports it."""
    await connection.execute(
        "update dead_messages d set state = 'replaying', replayed_at = clock_timestamp(), replay_event_id = f.replay,"
        " decided_by = $3, decided_why = $4, queue = coalesce($5, d.queue),"
        " redirected_from = case when $5 <> d.queue then d.queue else d.redirected_from end from unnest($1::uuid[], $2::uuid[]) as f (id, replay) where d.id = f.id",
        list(replays),
        list(replays.values()),
        decision.by,
        decision.why,
        redirect_to,
    )


async def mark_discarded(connection: Connection, dead: DeadMessageId, decision: OperatorDecision) -> None:
    await connection.execute(
        "update dead_messages set state = 'discarded', resolution = $2, resolved_at = clock_timestamp(),"
        " decided_by = $3, decided_why = $2 where id = $1",
        dead,
        decision.why,
        decision.by,
    )


async def lock_discarded(
    connection: Connection, selection: DeadLetterSelection, limit: int
) -> list[WorkOfDeadLetter]:
    """Locks up to `limit` of the selected discarded dead letters, the oldest first; skips locked rows.

    Those that were replayed before their discard are left out: nobody knows whether their replays were handled.
    """
    where, values = await _selected(connection, selection, DeadLetterState.DISCARDED)
    async with bounded_search(connection, is_search=selection.wanted.is_search):
        rows = await connection.fetch(
            f"select {_WORK} from dead_messages d where replay_event_id is null and {where}"  # noqa: S608 - constants
            f" order by recorded_at, id limit ${len(values) + 1} for update skip locked",
            *values,
            limit,
        )
    return [_work_of(row) for row in rows]


async def work_of(connection: Connection, dead: DeadMessageId) -> WorkOfDeadLetter:
    row = await connection.fetchrow(f"select {_WORK} from dead_messages where id = $1", dead)  # noqa: S608 - constants
    assert row is not None, "the caller has locked it"
    return _work_of(row)


async def mark_restored(
    connection: Connection,
    letters: Sequence[WorkOfDeadLetter],
    resolutions: Mapping[UUID, str],
    decision: OperatorDecision,
) -> None:
    """Opens these dead letters again; those with a resolution become resolved instead."""
    await connection.execute(
        "update dead_messages d set state = case when f.resolution is null then 'open' else 'resolved' end,"
        " resolution = f.resolution, resolved_at = case when f.resolution is not null then clock_timestamp() end,"
        " restored_at = clock_timestamp(), restored_by = $3, restored_why = $4"
        " from unnest($1::uuid[], $2::text[]) as f (id, resolution) where d.id = f.id",
        [each.id for each in letters],
        [resolutions.get(each.id) for each in letters],
        decision.by,
        decision.why,
    )


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


def _work_of(row: Any) -> WorkOfDeadLetter:
    return WorkOfDeadLetter(
        DeadMessageId(row["id"]), row["event_id"], row["queue"], row["work_ids"] or (), row["asked_at"]
    )


def _claimed(row: Any) -> LockedDeadLetter:
    trace = {name: row[name] for name in (TRACEPARENT, TRACESTATE, BAGGAGE) if row[name] is not None}
    return LockedDeadLetter(
        _standing(row), row["queue"], row["payload"], trace, row["now"], reason=row["reason"]
    )


def _standing(row: Any) -> DeadLetterSnapshot:
    return DeadLetterSnapshot(
        id=DeadMessageId(row["id"]),
        state=DeadLetterState(row["state"]),
        replayable=row["replayable"],
        replayed_at=row["replayed_at"],
        replay_event_id=row["replay_event_id"],
        resolution=row["resolution"],
        asked_at=row["asked_at"],
    )
