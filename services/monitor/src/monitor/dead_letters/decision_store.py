"""SQL of operators' decisions: selects dead letters, locks them, and notes what was decided."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from envelope import NO_LIMITS, ChainLimits
from envelope.brand import CATALOGUE
from messaging.headers import BAGGAGE, TRACEPARENT, TRACESTATE, Reason
from messaging.topology import work_queues
from monitor.dead_letters.domain import (
    DeadLetterSnapshot,
    DeadLetterState,
    DeadMessageId,
)
from monitor.dead_letters.filtering import DeadLetterFilter, bounded_search
from monitor.dead_letters.store import STANDING, standing_of

_CLAIMED: Final = (
    f"{STANDING}, queue, reason, payload, headers->>'{TRACEPARENT}' as traceparent, headers->>'{TRACESTATE}' as tracestate,"
    f" headers->>'{BAGGAGE}' as baggage, clock_timestamp() as now"
)


_WORK: Final = "id, event_id, queue, work_ids, asked_at"


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


def _work_of(row: Any) -> WorkOfDeadLetter:
    return WorkOfDeadLetter(
        DeadMessageId(row["id"]), row["event_id"], row["queue"], row["work_ids"] or (), row["asked_at"]
    )


def _claimed(row: Any) -> LockedDeadLetter:
    trace = {name: row[name] for name in (TRACEPARENT, TRACESTATE, BAGGAGE) if row[name] is not None}
    return LockedDeadLetter(
        standing_of(row), row["queue"], row["payload"], trace, row["now"], reason=row["reason"]
    )
