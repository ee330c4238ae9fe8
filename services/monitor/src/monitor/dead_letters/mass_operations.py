"""Decides about all dead letters that match a filter, in steps, and follows what becomes of their replays.

All of it is in the database, so that any replica goes on with it, also after a restart.
"""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import asyncpg
import structlog

from chassis import Connection
from envelope import new_event_id
from messaging import Database, Transaction
from monitor.dead_letters import decision_store
from monitor.dead_letters.api_models import BulkSelection
from monitor.dead_letters.decision_store import DeadLetterSelection, OperatorDecision
from monitor.dead_letters.domain import SILENT_AFTER, OperationVerb
from monitor.dead_letters.filtering import SEARCH_SECONDS, SearchTooSlowError
from monitor.dead_letters.operations import discard_some, replay_some, restore_some

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 500
"""The most that one transaction decides about."""
_TURN_SECONDS: Final = 2.0
"""How long one operation goes on before the others have their turn."""
NEXT_STEP: Final = timedelta(seconds=1)
"""Between two steps of what runs. Every replica of the monitor asks; at rest, it asks less often."""
_MOST_RUNNING: Final = 100
_FOLLOWED: Final = timedelta(days=2)
"""How long the replays of an ended operation are followed."""
_COLUMNS: Final = (
    "o.id, o.verb, o.selection, o.until, o.brands, o.reason, o.operator, o.total, o.decided, o.is_decided, o.handled, o.came_back, o.state, o.problem,"
    " o.stopped_by, o.started_at, o.ended_at,"
    " (select count(*) from dead_letter_operation_replays r where r.operation_id = o.id) as waiting"
)


class OperationState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    """All were decided about; replays have an outcome, or nothing was heard of them for a day."""
    STOPPED = "stopped"
    """An operator stopped it; the rest stays as it was."""
    FAILED = "failed"
    """See `problem`; the rest stays as it was."""


@dataclass(frozen=True, slots=True)
class MassOperation:
    id: UUID
    verb: OperationVerb
    selection: Mapping[str, Any]
    """The filter, by the names that the API has for its fields."""
    until: datetime
    brands: tuple[str, ...] | None
    """The brands that its operator may see; None: all."""
    reason: str | None
    operator: str | None
    total: int
    """How many matched when it began."""
    decided: int
    is_decided: bool
    """Whether there are no more to decide about; then only replays are waited for."""
    handled: int
    """Replays that their consumers have handled."""
    came_back: int
    """Replays that are dead letters again."""
    state: OperationState
    problem: str | None
    stopped_by: str | None
    started_at: datetime
    ended_at: datetime | None
    waiting: int
    """Replays without a known outcome."""

    def is_visible(self, brands: Collection[str] | None) -> bool:
        """Whether a caller who is bound to these brands may see it; None: to none."""
        return brands is None or (bool(self.brands) and set(self.brands or ()) <= set(brands))


class MassOperations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(
        self,
        verb: OperationVerb,
        wanted: BulkSelection,
        decision: OperatorDecision,
        brands: Collection[str] | None,
    ) -> MassOperation:
        """Begins one, and takes its first step; so a small one has ended when this returns.

        `brands` limits the caller to these.

        Raises:
            SearchTooSlowError: the filter searches texts, and that took too long; nothing was done.
        """
        operation = new_event_id()
        async with self._database.transaction() as tx:
            connection = tx.connection
            now = await connection.fetchval("select clock_timestamp()")
            until = min(wanted.until or now, now)
            selection = DeadLetterSelection(wanted.to_filter(brands), until=until)
            total = await _count(connection, verb, selection)
            await connection.execute(
                "insert into dead_letter_operations (id, verb, selection, until, brands, reason, operator, total, state)"
                " values ($1, $2, $3, $4, $5, $6, $7, $8, 'running')",
                operation,
                verb.value,
                wanted.model_dump_json(include=set(BulkSelection.model_fields), exclude_none=True),
                until,
                None if brands is None else sorted(brands),
                decision.why,
                decision.by,
                total,
            )
            # In the same transaction, so that no other replica takes the first step.
            begun = await _locked(connection, operation)
            assert begun is not None
            await _step(tx, begun)
            after = await _locked(connection, operation)
            assert after is not None
            return after

    async def find(self, operation: UUID) -> MassOperation | None:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                f"select {_COLUMNS} from dead_letter_operations o where id = $1",  # noqa: S608 - constants
                operation,
            )
        return None if row is None else _operation(row)

    async def page(
        self, *, brands: Collection[str] | None, after: UUID | None, limit: int
    ) -> list[MassOperation]:
        """Up to `limit` that the caller may see, the newest first."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                f"select {_COLUMNS} from dead_letter_operations o"  # noqa: S608 - constants
                " where ($1::text[] is null or (o.brands <@ $1 and o.brands <> '{}'))"
                " and ($2::uuid is null or (started_at, id) < (select started_at, id from dead_letter_operations where id = $2))"
                " order by started_at desc, id desc limit $3",
                None if brands is None else list(brands),
                after,
                limit,
            )
        return list(map(_operation, rows))

    async def stop(self, operation: UUID, by: str | None) -> None:
        """Ends it, if it still runs; replays that are on their way stay so."""
        async with self._database.transaction() as tx:
            await _end(tx.connection, operation, OperationState.STOPPED, stopped_by=by or "an operator")

    async def advance(self) -> timedelta | None:
        """Goes on with each that runs, and notes what became of replays.

        Returns in what time to look again while there are some; each begins with its first step, so none waits for this.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select id from dead_letter_operations where state = 'running' or (ended_at > now() - $2::interval"
                " and exists (select from dead_letter_operation_replays r where r.operation_id = dead_letter_operations.id))"
                " order by started_at limit $1",
                _MOST_RUNNING,
                _FOLLOWED,
            )
        for row in rows:
            began = time.monotonic()
            while await self._step(row["id"]) and time.monotonic() - began < _TURN_SECONDS:
                pass
        return NEXT_STEP if rows else None

    async def _step(self, operation: UUID) -> bool:
        """Decides about some more; returns whether there may be others."""
        try:
            async with self._database.transaction() as tx:
                found = await _locked(tx.connection, operation)
                return found is not None and await _step(tx, found)
        except SearchTooSlowError:
            async with self._database.transaction() as tx:
                problem = f"the search took longer than {SEARCH_SECONDS} seconds"
                await _end(tx.connection, operation, OperationState.FAILED, problem=problem)
            return False


async def _locked(connection: Connection, operation: UUID) -> MassOperation | None:
    """The operation, locked; None if another replica has it."""
    row = await connection.fetchrow(
        f"select {_COLUMNS} from dead_letter_operations o where id = $1 for update of o skip locked",  # noqa: S608 - constants
        operation,
    )
    return None if row is None else _operation(row)


async def _step(tx: Transaction, operation: MassOperation) -> bool:
    """Notes outcomes and decides about some more; returns whether there may be others."""
    await _settle(tx.connection, operation.id)
    if operation.state is not OperationState.RUNNING:
        return False
    if not operation.is_decided:
        number, is_more = await _decide(tx, operation)
        await tx.connection.execute(
            "update dead_letter_operations set decided = decided + $2, is_decided = $3 where id = $1",
            operation.id,
            number,
            not is_more,
        )
        if is_more:
            return True
    waits = await tx.connection.fetchval(
        "select exists (select from dead_letter_operation_replays where operation_id = $1"
        " and replayed_at > clock_timestamp() - $2::interval)",
        operation.id,
        SILENT_AFTER,
    )
    if not waits:
        await _end(tx.connection, operation.id, OperationState.DONE)
    return False


async def _decide(tx: Transaction, operation: MassOperation) -> tuple[int, bool]:
    """Decides about some; returns how many, and whether there may be more."""
    wanted = BulkSelection.model_validate(operation.selection).to_filter(operation.brands)
    selection = DeadLetterSelection(wanted, until=operation.until)
    decision = OperatorDecision(operation.operator, operation.reason)
    if operation.verb is OperationVerb.REPLAY:
        replayed = await replay_some(tx, selection, _AT_ONCE, decision)
        await tx.connection.execute(
            "insert into dead_letter_operation_replays (operation_id, dead_letter_id) select $1, unnest($2::uuid[])",
            operation.id,
            list(replayed.replays),
        )
        return len(replayed.replays), replayed.last is not None
    if operation.verb is OperationVerb.DISCARD:
        ids = await discard_some(tx, selection, _AT_ONCE, decision)
    else:
        ids = (await restore_some(tx, selection, _AT_ONCE, decision)).ids
    return len(ids), len(ids) == _AT_ONCE


async def _settle(connection: Connection, operation: UUID) -> None:
    """Notes which replays have an outcome."""
    await connection.execute(
        "with ended as (delete from dead_letter_operation_replays r where operation_id = $1"
        " and not exists (select from dead_messages d where d.id = r.dead_letter_id and d.state = 'replaying')"
        " returning r.dead_letter_id),"
        " counted as (select count(*) as number, count(*) filter"
        " (where exists (select from dead_messages n where n.replay_of = ended.dead_letter_id)) as came_back from ended)"
        " update dead_letter_operations o set handled = o.handled + counted.number - counted.came_back,"
        " came_back = o.came_back + counted.came_back from counted where o.id = $1 and counted.number > 0",
        operation,
    )


async def _end(
    connection: Connection,
    operation: UUID,
    state: OperationState,
    *,
    problem: str | None = None,
    stopped_by: str | None = None,
) -> None:
    status = await connection.execute(
        "update dead_letter_operations set state = $2, problem = $3, stopped_by = $4, ended_at = clock_timestamp()"
        " where id = $1 and state = 'running'",
        operation,
        state.value,
        problem,
        stopped_by,
    )
    if status != "UPDATE 0":
        log.info("dead_letter_operation_ended", operation=str(operation), state=state.value)


async def _count(connection: Connection, verb: OperationVerb, selection: DeadLetterSelection) -> int:
    if verb is OperationVerb.REPLAY:
        return await decision_store.count_replayable(connection, selection)
    return await decision_store.count_selected(connection, selection, verb.takes)


async def forget_brand(connection: Connection, brand: str) -> None:
    await connection.execute(
        "update dead_letter_operations set brands = array_remove(brands, $1) where $1 = any (brands)", brand
    )


async def delete_ended(connection: Connection, older_than: timedelta) -> None:
    await connection.execute(
        "delete from dead_letter_operations where ended_at < now() - $1::interval", older_than
    )


def _operation(row: asyncpg.Record) -> MassOperation:
    fields = dict(row)
    brands = fields["brands"]
    return MassOperation(
        **fields
        | {
            "verb": OperationVerb(fields["verb"]),
            "state": OperationState(fields["state"]),
            "selection": json.loads(fields["selection"]),
            "brands": None if brands is None else tuple(brands),
        }
    )
