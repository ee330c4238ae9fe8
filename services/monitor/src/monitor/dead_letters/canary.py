"""Replays a failure group in steps: one, then ten, then the rest. It stops at the first that fails in the same way again.

All of it is in the database, so that any replica goes on with it, also after a restart.
"""

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
from monitor.dead_letters.decision_store import DeadLetterSelection, OperatorDecision
from monitor.dead_letters.domain import SILENT_AFTER, DeadLetterState
from monitor.dead_letters.filtering import GROUP_ID, DeadLetterFilter
from monitor.dead_letters.operations import MOST_BYTES, send_again

log = structlog.get_logger(__name__)

STEPS: Final = (1, 10)
"""How many are replayed in each step before the last, which replays the rest."""
_AT_ONCE: Final = 500
"""The most that the last step replays in one transaction."""
NEXT_STEP: Final = timedelta(seconds=1)
"""Between two steps of what runs. Every replica of the monitor asks; at rest, it asks less often."""
_MOST_RUNNING: Final = 100
_COLUMNS: Final = (
    "c.id, c.failure_group, c.brands, c.reason, c.operator, c.total, c.step, c.state, c.started_at, c.ended_at, c.came_back,"
    " c.stopped_by, (select count(*) from canary_replay_letters l where l.canary_id = c.id) as replayed,"
    " (select count(*) from canary_replay_letters l where l.canary_id = c.id and not l.is_settled) as waiting"
)


class CanaryState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    """All that were open have been replayed, and it is known what became of each."""
    CAME_BACK = "came_back"
    """A replay failed in the same way; the rest stays open."""
    SILENT = "silent"
    """Nothing was heard of a replay for a day; the rest stays open."""
    STOPPED = "stopped"
    """An operator stopped it; the rest stays open."""


@dataclass(frozen=True, slots=True)
class CanaryReplay:
    id: UUID
    failure_group: str
    brands: tuple[str, ...] | None
    """The brands that its operator may see; None: all."""
    reason: str | None
    operator: str | None
    total: int
    """How many were open when it began."""
    step: int
    """How many steps have begun."""
    state: CanaryState
    started_at: datetime
    ended_at: datetime | None
    came_back: UUID | None
    """The dead letter of the first replay that failed in the same way."""
    stopped_by: str | None
    replayed: int
    waiting: int
    """Replays without a known outcome."""

    def is_visible(self, brands: Collection[str] | None) -> bool:
        """Whether a caller who is bound to these brands may see it; None: to none."""
        # Without brands: those of its operator were erased since.
        return brands is None or (bool(self.brands) and set(self.brands or ()) <= set(brands))


class CanaryReplays:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(
        self, group: str, decision: OperatorDecision, brands: Collection[str] | None
    ) -> CanaryReplay | None:
        """Begins the canary replay of a group, or returns the one that runs already; None if none of the group is open.

        `brands` limits the caller to these.
        """
        wanted = DeadLetterFilter(DeadLetterState.OPEN, group=group, brands=brands, replayable=True)
        where, values = wanted.condition()
        async with self._database.transaction() as tx:
            total = await tx.connection.fetchval(
                f"select count(*) from dead_messages d where {where}",  # noqa: S608 - constants
                *values,
            )
            if total:
                await tx.connection.execute(
                    "insert into canary_replays (id, failure_group, brands, reason, operator, total, state)"
                    " values ($1, $2, $3, $4, $5, $6, 'running')"
                    " on conflict (failure_group) where state = 'running' do nothing",
                    new_event_id(),
                    group,
                    None if brands is None else sorted(brands),
                    decision.why,
                    decision.by,
                    total,
                )
            row = await tx.connection.fetchrow(
                f"select {_COLUMNS} from canary_replays c where failure_group = $1 and state = 'running'",  # noqa: S608 - constants
                group,
            )
        if row is None:
            return None
        canary = _canary(row)
        # For a caller who sees none of the group, it does not exist.
        return canary if total or canary.is_visible(brands) else None

    async def find(self, canary: UUID) -> CanaryReplay | None:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                f"select {_COLUMNS} from canary_replays c where id = $1",  # noqa: S608 - constants
                canary,
            )
        return None if row is None else _canary(row)

    async def page(
        self, *, group: str | None, brands: Collection[str] | None, after: UUID | None, limit: int
    ) -> list[CanaryReplay]:
        """Up to `limit` that the caller may see, the newest first."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                f"select {_COLUMNS} from canary_replays c where ($1::text is null or failure_group = $1)"  # noqa: S608 - constants
                " and ($2::text[] is null or (c.brands <@ $2 and c.brands <> '{}'))"
                " and ($3::uuid is null or (started_at, id) < (select started_at, id from canary_replays where id = $3))"
                " order by started_at desc, id desc limit $4",
                group,
                None if brands is None else list(brands),
                after,
                limit,
            )
        return list(map(_canary, rows))

    async def stop(self, canary: UUID, by: str | None) -> None:
        """Ends it, if it still runs; replays that are on their way stay so."""
        async with self._database.transaction() as tx:
            await _end(tx.connection, canary, CanaryState.STOPPED, stopped_by=by or "an operator")

    async def advance(self) -> timedelta | None:
        """Takes each running one a step further, if the step before is settled.

        Returns in what time to look again while there are some.
        """
        async with self._database.connection() as connection:
            running = await connection.fetch(
                "select id from canary_replays where state = 'running' order by started_at limit $1",
                _MOST_RUNNING,
            )
        for row in running:
            async with self._database.transaction() as tx:
                found = await tx.connection.fetchrow(
                    "select id, failure_group, brands, reason, operator, step, started_at from canary_replays"
                    " where id = $1 and state = 'running' for update skip locked",
                    row["id"],
                )
                if found is not None:
                    await _advance(tx, dict(found))
        return NEXT_STEP if running else None


async def _advance(tx: Transaction, canary: Mapping[str, Any]) -> None:
    connection = tx.connection
    came_back = await _settle(connection, canary["id"], canary["failure_group"])
    if came_back is not None:
        await _end(connection, canary["id"], CanaryState.CAME_BACK, came_back=came_back)
        return
    waiting = await connection.fetchrow(
        "select count(*) as number, min(d.replayed_at) < clock_timestamp() - $2::interval as is_silent"
        " from canary_replay_letters l join dead_messages d on d.id = l.dead_letter_id"
        " where l.canary_id = $1 and not l.is_settled",
        canary["id"],
        SILENT_AFTER,
    )
    assert waiting is not None
    if waiting["is_silent"]:
        await _end(connection, canary["id"], CanaryState.SILENT)
        return
    is_last = canary["step"] > len(STEPS)
    if waiting["number"] and not is_last:
        return
    step = canary["step"] if is_last else canary["step"] + 1
    limit = _AT_ONCE if step > len(STEPS) else STEPS[step - 1]
    begun = await _replay_some(tx, canary, limit)
    if begun:
        await connection.execute("update canary_replays set step = $2 where id = $1", canary["id"], step)
    elif not waiting["number"]:
        await _end(connection, canary["id"], CanaryState.DONE)


async def _settle(connection: Connection, canary: UUID, group: str) -> UUID | None:
    """Notes whose replays have an outcome; returns the dead letter of the first of them that failed in the same way."""
    found: UUID | None = await connection.fetchval(
        "with ended as (update canary_replay_letters l set is_settled = true where canary_id = $1 and not is_settled"  # noqa: S608 - constants
        " and not exists (select from dead_messages d where d.id = l.dead_letter_id and d.state = 'replaying')"
        " returning l.dead_letter_id)"
        " select d.id from ended join dead_messages d on d.replay_of = ended.dead_letter_id"
        f" where {GROUP_ID} = $2 order by d.recorded_at, d.id limit 1",
        canary,
        group,
    )
    return found


async def _replay_some(tx: Transaction, canary: Mapping[str, Any], limit: int) -> int:
    """Replays up to so many of the group that were open when it began; returns how many."""
    wanted = DeadLetterFilter(DeadLetterState.OPEN, group=canary["failure_group"], brands=canary["brands"])
    selection = DeadLetterSelection(wanted, until=canary["started_at"])
    claimed, _ = await decision_store.lock_open(tx.connection, selection, limit, MOST_BYTES)
    if not claimed:
        return 0
    replays = send_again(tx, claimed)
    decision = OperatorDecision(canary["operator"], canary["reason"])
    await decision_store.mark_replaying(tx.connection, replays, decision)
    await tx.connection.execute(
        "insert into canary_replay_letters (canary_id, dead_letter_id) select $1, unnest($2::uuid[])",
        canary["id"],
        list(replays),
    )
    log.info("dead_letters_replayed", count=len(replays), canary=str(canary["id"]), by=canary["operator"])
    return len(replays)


async def _end(
    connection: Connection,
    canary: UUID,
    state: CanaryState,
    *,
    came_back: UUID | None = None,
    stopped_by: str | None = None,
) -> None:
    status = await connection.execute(
        "update canary_replays set state = $2, came_back = $3, stopped_by = $4, ended_at = clock_timestamp()"
        " where id = $1 and state = 'running'",
        canary,
        state.value,
        came_back,
        stopped_by,
    )
    if status != "UPDATE 0":
        log.info("canary_replay_ended", canary=str(canary), state=state.value, came_back=str(came_back or ""))


async def forget_brand(connection: Connection, brand: str) -> None:
    await connection.execute(
        "update canary_replays set brands = array_remove(brands, $1) where $1 = any (brands)", brand
    )


async def delete_ended(connection: Connection, older_than: timedelta) -> None:
    await connection.execute("delete from canary_replays where ended_at < now() - $1::interval", older_than)


def _canary(row: asyncpg.Record) -> CanaryReplay:
    fields = dict(row)
    brands = fields["brands"]
    return CanaryReplay(
        **fields
        | {"state": CanaryState(fields["state"]), "brands": None if brands is None else tuple(brands)}
    )
