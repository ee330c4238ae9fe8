"""SQL over incoming webhooks and what arrived, beside the functions that run it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from envelope import new_event_id
from events.incoming_hooks.definition import HookDefinition, HookKind

KEPT: Final = timedelta(days=30)
"""How long arrivals are kept: for as long, none is taken twice."""
SHOWN: Final = 100
REFUSED_KEPT: Final = 100
"""Refused arrivals of a hook that are kept."""
_COLUMNS: Final = (
    "hook_id, brand_slug, name, kind, secret, case when former_until > now() then former_secret end as former_secret,"
    " case when former_until > now() then former_until end as former_until, rotated_at, definition::text as definition,"
    " created_by, created_at"
)
_PRUNED_AT_ONCE: Final = 5_000
_MOST_COUNTED: Final = 100_000


class ArrivalState(StrEnum):
    WAITING = "waiting"
    """It becomes a command as soon as the orchestrator answers."""
    DONE = "done"
    IGNORED = "ignored"
    """The definition does not take it."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Hook:
    hook_id: UUID
    brand: str
    name: str
    kind: HookKind
    secrets: tuple[str, ...]
    """As they are stored: the current one, and the former one while it is valid."""
    former_until: datetime | None
    rotated_at: datetime | None
    definition: HookDefinition
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Arrival:
    arrival_id: UUID
    sender_id: str | None
    state: ArrivalState
    code: str | None
    detail: str | None
    location: str | None
    attempts: int
    received_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingCommand:
    """An arrival to be handed over, with its hook."""

    arrival_id: UUID
    brand: str
    hook: str
    type: str
    data: dict[str, Any]
    attempts: int
    received_at: datetime


# -- hooks -----------------------------------------------------------------------------------------------------------------


async def find(connection: Connection, brand: str, name: str, *, lock: bool = False) -> Hook | None:
    row = await connection.fetchrow(
        f"select {_COLUMNS} from incoming_hooks where brand_slug = $1 and name = $2 {'for update' if lock else ''}",  # noqa: S608
        brand,
        name,
    )
    return None if row is None else _hook(row)


async def list_of(connection: Connection, brand: str) -> list[Hook]:
    rows = await connection.fetch(
        f"select {_COLUMNS} from incoming_hooks where brand_slug = $1 order by name",  # noqa: S608
        brand,
    )
    return list(map(_hook, rows))


async def block_others(connection: Connection, brand: str) -> None:
    """Blocks others that make hooks of the brand until the transaction ends."""
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended($1, 0))", f"events hooks of {brand}"
    )


async def insert(
    connection: Connection,
    brand: str,
    name: str,
    kind: HookKind,
    secret: str,
    definition: HookDefinition,
    *,
    by: str,
) -> None:
    await connection.execute(
        """
        insert into incoming_hooks (hook_id, brand_slug, name, kind, secret, definition, created_by)
        values ($1, $2, $3, $4, $5, $6::text::jsonb, $7)
        """,
        new_event_id(),
        brand,
        name,
        kind,
        secret,
        definition.model_dump_json(),
        by,
    )


async def change(connection: Connection, hook_id: UUID, definition: HookDefinition) -> None:
    await connection.execute(
        "update incoming_hooks set definition = $2::text::jsonb where hook_id = $1",
        hook_id,
        definition.model_dump_json(),
    )


async def rotate(connection: Connection, hook_id: UUID, secret: str, grace: timedelta) -> None:
    """Replaces the secret; the former one stays valid for `grace`, the one before it ends now."""
    await connection.execute(
        """
        update incoming_hooks
        set former_secret = secret, former_until = now() + $3::interval, secret = $2, rotated_at = now()
        where hook_id = $1
        """,
        hook_id,
        secret,
        grace,
    )


async def remove(connection: Connection, hook_id: UUID) -> None:
    await connection.execute("delete from incoming_hooks where hook_id = $1", hook_id)


async def forget_brand(connection: Connection, brand: str) -> int:
    """Removes the brand's hooks with all that arrived; returns their number."""
    status = await connection.execute("delete from incoming_hooks where brand_slug = $1", brand)
    return int(status.rpartition(" ")[2])


def _hook(row: Any) -> Hook:
    return Hook(
        hook_id=row["hook_id"],
        brand=row["brand_slug"],
        name=row["name"],
        kind=HookKind(row["kind"]),
        secrets=(row["secret"], *([row["former_secret"]] if row["former_secret"] else [])),
        former_until=row["former_until"],
        rotated_at=row["rotated_at"],
        definition=HookDefinition.model_validate_json(row["definition"]),
        created_by=row["created_by"],
        created_at=row["created_at"],
    )


# -- arrivals --------------------------------------------------------------------------------------------------------------


async def find_same(
    connection: Connection, hook_id: UUID, sender_id: str, body_digest: bytes | None
) -> UUID | None:
    """The id of an arrival of the same id, or of the same body, if one is given."""
    found: UUID | None = await connection.fetchval(
        """
        select arrival_id from hook_arrivals where hook_id = $1 and sender_id = $2
        union all
        select arrival_id from hook_arrivals where hook_id = $1 and body_digest = $3
        limit 1
        """,
        hook_id,
        sender_id,
        body_digest,
    )
    return found


async def lock_bodies(connection: Connection, hook_id: UUID) -> None:
    """Blocks others that compare bodies of the hook until the transaction ends."""
    await connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", f"bodies of {hook_id}")


async def insert_arrival(
    connection: Connection,
    hook_id: UUID,
    sender_id: str,
    body_digest: bytes | None,
    state: ArrivalState,
    data: dict[str, Any] | None,
) -> UUID | None:
    """Stores an arrival; returns its id, None if one of this sender's id is stored."""
    found: UUID | None = await connection.fetchval(
        """
        insert into hook_arrivals (arrival_id, hook_id, sender_id, body_digest, state, data)
        values ($1, $2, $3, $4, $5, $6::text::jsonb) on conflict (hook_id, sender_id) do nothing returning arrival_id
        """,
        new_event_id(),
        hook_id,
        sender_id,
        body_digest,
        state,
        None if data is None else json.dumps(data),
    )
    return found


async def insert_refusal(connection: Connection, hook_id: UUID, code: str, detail: str) -> None:
    """Stores why a request was refused, and nothing of what it said. The oldest refusals of the hook make room."""
    await connection.execute(
        "insert into hook_arrivals (arrival_id, hook_id, state, code, detail) values ($1, $2, 'refused', $3, $4)",
        new_event_id(),
        hook_id,
        code,
        detail,
    )
    await connection.execute(
        """
        delete from hook_arrivals where arrival_id in (
            select arrival_id from hook_arrivals where hook_id = $1 and state = 'refused' and sender_id is null
            order by arrival_id desc offset $2 for update skip locked)
        """,
        hook_id,
        REFUSED_KEPT,
    )


async def newest(connection: Connection, hook_id: UUID) -> list[Arrival]:
    """The last hundred, the newest first."""
    rows = await connection.fetch(
        """
        select arrival_id, sender_id, state, code, detail, location, attempts, received_at from hook_arrivals
        where hook_id = $1 order by arrival_id desc limit $2
        """,
        hook_id,
        SHOWN,
    )
    return [Arrival(**dict(row) | {"state": ArrivalState(row["state"])}) for row in rows]


async def claim(connection: Connection, limit: int, lease: timedelta) -> Sequence[WaitingCommand]:
    """Takes what is due, the oldest first; until the lease ends, no other process does."""
    rows = await connection.fetch(
        """
        update hook_arrivals as a set claimed_until = now() + $2::interval, attempts = attempts + 1
        from incoming_hooks as h
        where h.hook_id = a.hook_id and a.arrival_id in (
            select arrival_id from hook_arrivals
            where state = 'waiting' and due_at <= now() and (claimed_until is null or claimed_until <= now())
            order by due_at limit $1 for update skip locked)
        returning a.arrival_id, h.brand_slug as brand, h.name as hook, h.definition->>'type' as type, a.data::text as data,
                  a.attempts, a.received_at
        """,
        limit,
        lease,
    )
    return [WaitingCommand(**dict(row) | {"data": json.loads(row["data"])}) for row in rows]


async def end(
    connection: Connection,
    arrival_id: UUID,
    state: ArrivalState,
    *,
    location: str | None = None,
    code: str | None = None,
    detail: str | None = None,
) -> None:
    await connection.execute(
        """
        update hook_arrivals set state = $2, location = $3, code = $4, detail = $5, data = null, claimed_until = null
        where arrival_id = $1 and state = 'waiting'
        """,
        arrival_id,
        state,
        location,
        code,
        detail,
    )


async def postpone(connection: Connection, arrival_id: UUID, after: timedelta, detail: str) -> None:
    await connection.execute(
        """
        update hook_arrivals set due_at = now() + $2::interval, detail = $3, claimed_until = null
        where arrival_id = $1 and state = 'waiting'
        """,
        arrival_id,
        after,
        detail,
    )


async def read_backlog(connection: Connection) -> tuple[int, float]:
    """The number of arrivals that wait for the orchestrator, counted up to 100,000, and the age of the oldest in seconds (0: none)."""
    row = await connection.fetchrow(
        """
        select count(*) as number, coalesce(extract(epoch from now() - min(received_at)), 0)::float8 as age
        from (select received_at from hook_arrivals where state = 'waiting' order by due_at limit $1) as waiting
        """,
        _MOST_COUNTED,
    )
    assert row is not None
    return row["number"], max(0.0, row["age"])


async def prune(connection: Connection) -> None:
    """Deletes arrivals that are over a month old."""
    while True:
        status = await connection.execute(
            """
            delete from hook_arrivals where arrival_id in (
                select arrival_id from hook_arrivals where received_at < now() - $1::interval limit $2)
            """,
            KEPT,
            _PRUNED_AT_ONCE,
        )
        if int(status.rpartition(" ")[2]) < _PRUNED_AT_ONCE:
            return
