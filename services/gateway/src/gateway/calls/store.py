"""The ledger: calls from being set aside to their end, and the answers that are kept. The statements."""

import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from chassis import Connection
from gateway.calls.domain import Asked
from gateway.money import Charge


@dataclass(frozen=True, slots=True)
class Call:
    """One that has begun and not ended."""

    id: UUID
    provider: str
    charge: Charge


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a call."""

    call_id: UUID
    outcome: dict[str, Any] | None
    spent: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the ledger; amounts in micro-dollars."""

    id: UUID
    brand: str
    provider: str
    subject: str
    state: str
    maximum: int
    spent: int
    usage: dict[str, int]
    day: date
    began_at: datetime
    ended_at: datetime | None
    problem: str | None


async def use_key(connection: Connection, brand: str, key: str, fingerprint: bytes) -> datetime | None:
    """When the key was first used for this call; None if that was for another one."""
    began_at: datetime | None = await connection.fetchval(
        """
        insert into idempotency_keys (brand, key, fingerprint) values ($1, $2, $3)
        on conflict (brand, key) do update set key = excluded.key
            where idempotency_keys.fingerprint = excluded.fingerprint
        returning began_at
        """,
        brand,
        key,
        fingerprint,
    )
    return began_at


async def kept_answer(
    connection: Connection, fingerprint: bytes, fresh: timedelta, first_asked_at: datetime | None
) -> Kept | None:
    """The last answer to the same question that was fresh, or is younger, when it was first asked: now, if that is None."""
    row = await connection.fetchrow(
        """
        select id, outcome, spent from calls
        where fingerprint = $1 and state = 'settled' and outcome is not null and outcome ? 'answer'
          and ended_at > coalesce($3, clock_timestamp()) - $2::interval
        order by ended_at desc limit 1
        """,
        fingerprint,
        fresh,
        first_asked_at,
    )
    return None if row is None else _kept(row)


async def under_way(connection: Connection, fingerprint: bytes) -> UUID | None:
    """The same call, if somebody is making it and is not taken for dead."""
    call: UUID | None = await connection.fetchval(
        """
        select id from calls
        where fingerprint = $1 and state in ('reserved', 'sent') and lease_until > clock_timestamp()
        """,
        fingerprint,
    )
    return call


async def begin(connection: Connection, asked: Asked, day: date, lease: timedelta) -> UUID | None:
    """Writes down that a call is about to be made; None if the same one is open already."""
    call: UUID | None = await connection.fetchval(
        """
        insert into calls (fingerprint, brand, provider, subject, state, maximum, day, lease_until)
        values ($1, $2, $3, $4, 'reserved', $5, $6, clock_timestamp() + $7::interval)
        on conflict (fingerprint) where state in ('reserved', 'sent') do nothing returning id
        """,
        asked.fingerprint,
        asked.brand,
        asked.provider,
        asked.subject,
        asked.maximum,
        day,
        lease,
    )
    return call


async def mark_sent(connection: Connection, call: UUID, lease: timedelta) -> bool:
    """Whether it may be sent: whoever waited too long for his turn was taken for dead."""
    return (
        await connection.fetchval(
            """
            update calls set state = 'sent', lease_until = clock_timestamp() + $2::interval
            where id = $1 and state = 'reserved' returning true
            """,
            call,
            lease,
        )
        is True
    )


async def sent_by_brand(connection: Connection, provider: str) -> dict[str, int]:
    """Calls under way at a provider; those of processes taken for dead do not count."""
    rows = await connection.fetch(
        """
        select brand, count(*) as calls from calls
        where provider = $1 and state = 'sent' and lease_until > clock_timestamp() group by brand
        """,
        provider,
    )
    return {row["brand"]: row["calls"] for row in rows}


async def open_by_state(connection: Connection) -> dict[tuple[str, str], int]:
    """Calls that have not ended by account and state; those of processes taken for dead do not count."""
    rows = await connection.fetch(
        """
        select provider, state, count(*) as calls from calls
        where state in ('reserved', 'sent') and lease_until > clock_timestamp() group by provider, state
        """
    )
    return {(row["provider"], row["state"]): row["calls"] for row in rows}


async def end(
    connection: Connection, call: UUID, state: str, spent: int, usage: dict[str, int], outcome: dict[str, Any]
) -> tuple[str, int] | None:
    """Ends a call; returns the state that it was in and what was counted then. None if it had ended before.

    One that was presumed to be spent has not ended: its process was slow, not dead.
    """
    row = await connection.fetchrow(
        """
        update calls set state = $2, spent = $3, usage = $4::jsonb, outcome = $5::jsonb, ended_at = clock_timestamp()
        from (select id, state, spent from calls where id = $1 for update) as before
        where calls.id = before.id and before.state in ('reserved', 'sent', 'presumed')
        returning before.state, before.spent
        """,
        call,
        state,
        spent,
        json.dumps(usage),
        json.dumps(outcome),
    )
    return None if row is None else (row["state"], row["spent"])


async def overdue(connection: Connection, limit: int) -> list[Call]:
    """Open calls whose process is taken for dead."""
    rows = await connection.fetch(
        """
        select id, brand, provider, day, maximum from calls
        where state in ('reserved', 'sent') and lease_until <= clock_timestamp() order by lease_until limit $1
        """,
        limit,
    )
    return [
        Call(row["id"], row["provider"], Charge(row["brand"], row["day"], row["maximum"])) for row in rows
    ]


async def give_up(connection: Connection, call: UUID) -> str | None:
    """Ends an overdue call: `released` if it was never sent, `presumed` otherwise. None if somebody else ended it."""
    state: str | None = await connection.fetchval(
        """
        update calls
        set state = case state when 'reserved' then 'released' else 'presumed' end,
            spent = case state when 'reserved' then 0 else maximum end, ended_at = clock_timestamp()
        where id = $1 and state in ('reserved', 'sent') and lease_until <= clock_timestamp() returning state
        """,
        call,
    )
    return state


async def ended(connection: Connection, call: UUID) -> Kept | None:
    """How a call ended; None while it has not. An outcome of None: nobody heard how."""
    row = await connection.fetchrow(
        "select id, outcome, spent from calls where id = $1 and state not in ('reserved', 'sent')", call
    )
    return None if row is None else _kept(row)


async def forget(connection: Connection, answers: timedelta, ledger: timedelta) -> None:
    """Takes away what is older: answers and keys, and lines of the ledger."""
    await connection.execute(
        """
        update calls set outcome = null
        where ended_at < clock_timestamp() - $1::interval and outcome is not null and outcome ? 'answer'
        """,
        answers,
    )
    await connection.execute(
        "delete from idempotency_keys where began_at < clock_timestamp() - $1::interval", answers
    )
    await connection.execute("delete from calls where ended_at < clock_timestamp() - $1::interval", ledger)


async def entries(
    connection: Connection, brand: str | None, before: datetime | None, limit: int
) -> list[Entry]:
    """Lines of the ledger, newest first."""
    rows = await connection.fetch(
        """
        select id, brand, provider, subject, state, maximum, spent, usage, day, began_at, ended_at,
               outcome->'problem'->>'type' as problem
        from calls where ($1::text is null or brand = $1) and ($2::timestamptz is null or began_at < $2)
        order by began_at desc limit $3
        """,
        brand,
        before,
        limit,
    )
    return [Entry(**(dict(row) | {"usage": json.loads(row["usage"])})) for row in rows]


async def by_provider(
    connection: Connection, day: date, scope: str | None
) -> list[tuple[str, str, int, int]]:
    """(brand, provider, calls, micro-dollars spent) of the month that the day is in."""
    rows = await connection.fetch(
        """
        select brand, provider, count(*) as calls, sum(spent)::bigint as spent from calls
        where day >= date_trunc('month', $1::date)::date and day < (date_trunc('month', $1::date) + interval '1 month')::date
          and ($2::text is null or brand = $2)
        group by brand, provider order by brand, provider
        """,
        day,
        scope,
    )
    return [(row["brand"], row["provider"], row["calls"], row["spent"]) for row in rows]


def _kept(row: Any) -> Kept:
    outcome = row["outcome"]
    return Kept(row["id"], None if outcome is None else json.loads(outcome), row["spent"])
