"""SQL for the ledger of calls and for kept answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from chassis.http import chain_headers
from gateway.calls.domain import CallRequest
from gateway.chain_calls import store as chains
from gateway.chain_calls.store import NewChainCall
from gateway.money import Charge
from gateway.money import store as money


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that has begun and not ended."""

    id: UUID
    provider: str
    charge: Charge


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call, as stored."""

    call_id: UUID
    outcome: dict[str, Any] | None
    spent: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An entry of the ledger; amounts in micro-dollars."""

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


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """An earlier call that matches a call request."""

    first_asked_at: datetime | None
    """When the key was first used for this call; None: no key, or one used for another call."""
    found: CallOutcome | UUID | None
    """The last fresh answer, or the id of an identical call under way. Freshness counts from the first use of the
    key, or from now."""


_KEPT: Final = """
    fingerprint = $1 and state = 'settled' and outcome is not null and outcome ? 'answer'
    and ended_at > coalesce({first_asked_at}, clock_timestamp()) - {fresh}::interval
"""
"""Final answers and problems, which are not requested again."""


async def find_earlier(connection: Connection, call_request: CallRequest) -> EarlierCall:
    """Records the use of the key, if any, and looks for an earlier call."""
    kept = _KEPT.format(first_asked_at="used.began_at", fresh="$4")
    row = await connection.fetchrow(
        f"""
        with used as (
            insert into idempotency_keys (brand, key, fingerprint) select $2, $3, $1 where $3::text is not null
            on conflict (brand, key) do update set key = excluded.key
                where idempotency_keys.fingerprint = excluded.fingerprint
            returning began_at
        )
        select used.began_at, kept.id, kept.outcome, kept.spent, open.id as open
        from (select) as call left join used on true
        left join lateral (
            select id, outcome, spent from calls where {kept} order by ended_at desc limit 1
        ) as kept on true
        left join lateral (
            select id from calls
            where fingerprint = $1 and state in ('reserved', 'sent') and lease_until > clock_timestamp()
        ) as open on true
        """,  # noqa: S608  (a constant)
        call_request.fingerprint,
        call_request.brand,
        call_request.key,
        call_request.fresh,
    )
    assert row is not None
    return EarlierCall(row["began_at"], row["open"] if row["id"] is None else _kept(row))


async def begin(
    connection: Connection,
    call_request: CallRequest,
    charge: Charge,
    first_asked_at: datetime | None,
    *,
    sent: bool,
    lease: timedelta,
) -> UUID | None:
    """Records a call as reserved or sent, and sets its maximum aside in the locked accounts.

    Returns:
        None, if an identical call is open, or was answered since the caller looked.
    """
    kept = _KEPT.format(first_asked_at="$12::timestamptz", fresh="$13")
    call: UUID | None = await connection.fetchval(
        f"""
        with begun as (
            insert into calls (fingerprint, brand, provider, subject, state, maximum, day, lease_until)
            select $1, $2, $3, $4, $5, $6, $7, clock_timestamp() + $8::interval
            where not exists (select from calls where {kept})
            on conflict (fingerprint) where state in ('reserved', 'sent') do nothing returning id
        ), set_aside as (
            update spend set reserved = spend.reserved + $6
            from begun, unnest($9::text[], $10::text[], $11::date[]) as wanted (scope, period, begins)
            where spend.scope = wanted.scope and spend.period = wanted.period and spend.begins = wanted.begins
        )
        select id from begun
        """,  # noqa: S608  (a constant)
        call_request.fingerprint,
        call_request.brand,
        call_request.provider,
        call_request.subject,
        "sent" if sent else "reserved",
        charge.amount,
        charge.day,
        lease,
        *money.columns(charge),
        first_asked_at,
        call_request.fresh,
    )
    chain = chain_headers.current()
    if call is not None and chain is not None:
        await money.add_to_chain(connection, charge, reserved=charge.amount, spent=0)
        made = NewChainCall(
            chain.id,
            call_request.brand,
            call_request.kind,
            call_request.provider,
            call_request.subject,
            call,
            is_limited=charge.chain is not None,
        )
        await chains.begin(connection, made)
    return call


async def mark_sent(connection: Connection, call: UUID, lease: timedelta) -> bool:
    """Marks the call as sent; returns False if its reservation has expired."""
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


async def open_by_state(connection: Connection) -> dict[tuple[str, str], int]:
    """Numbers of open calls by account and state; expired ones do not count."""
    rows = await connection.fetch(
        """
        select provider, state, count(*) as calls from calls
        where state in ('reserved', 'sent') and lease_until > clock_timestamp() group by provider, state
        """
    )
    return {(row["provider"], row["state"]): row["calls"] for row in rows}


async def end(
    connection: Connection,
    call: OpenCall,
    state: str,
    spent: int,
    usage: dict[str, int],
    outcome: dict[str, Any],
) -> None:
    """Ends a call and replaces its reservation, or its presumed cost, by the real one.

    A slow process may still end a call that was presumed spent. A released call stays as it is: it was never sent.
    """
    if call.charge.chain is None:
        await _end(connection, call, state, spent, usage, outcome)
        return
    async with connection.transaction():
        before = await _end(connection, call, state, spent, usage, outcome)
        if before is not None:
            await money.add_to_chain(
                connection, call.charge, reserved=-before["reserved"], spent=spent - before["spent"]
            )


async def _end(
    connection: Connection,
    call: OpenCall,
    state: str,
    spent: int,
    usage: dict[str, int],
    outcome: dict[str, Any],
) -> Any:
    """Returns what the call had set aside and spent before; None if it stays as it is."""
    return await connection.fetchrow(
        """
        with locked as materialized (
            select scope, period, begins, reserved, spent
            from spend join unnest($6::text[], $7::text[], $8::date[]) as wanted (scope, period, begins)
                using (scope, period, begins)
            order by scope, period, begins for update of spend
        ), before as materialized (
            -- Counted first, so that the accounts are locked before the call, as everywhere.
            select id, state, spent, maximum from calls
            where id = $1 and (select count(*) from locked) >= 0 for update
        ), ended as (
            update calls
            set state = $2, spent = $3, usage = $4::jsonb, outcome = $5::jsonb, ended_at = clock_timestamp()
            from before where calls.id = before.id and before.state in ('reserved', 'sent', 'presumed')
            returning case before.state when 'presumed' then 0 else before.maximum end as reserved,
                case before.state when 'presumed' then before.spent else 0 end as spent
        )
        -- From what is locked: the statement itself sees the accounts as they were before it waited for them.
        update spend set reserved = locked.reserved - ended.reserved, spent = locked.spent + $3 - ended.spent
        from ended, locked
        where spend.scope = locked.scope and spend.period = locked.period and spend.begins = locked.begins
        returning ended.reserved, ended.spent
        """,
        call.id,
        state,
        spent,
        json.dumps(usage),
        json.dumps(outcome),
        *money.columns(call.charge),
    )


async def list_overdue(connection: Connection, limit: int) -> list[OpenCall]:
    """Open calls of processes that count as dead."""
    rows = await connection.fetch(
        """
        select calls.id, calls.brand, provider, day, maximum, chain
        from calls left join chain_calls as c on c.call_id = calls.id and c.is_limited
        where state in ('reserved', 'sent') and lease_until <= clock_timestamp() order by lease_until limit $1
        """,
        limit,
    )
    return [
        OpenCall(row["id"], row["provider"], Charge(row["brand"], row["day"], row["maximum"], row["chain"]))
        for row in rows
    ]


async def give_up(connection: Connection, call: UUID) -> str | None:
    """Ends an overdue call: `released` if unsent, else `presumed`. Returns None if it has ended already."""
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


async def find_outcome(connection: Connection, call: UUID) -> CallOutcome | None:
    """The outcome of a call; None while it is open. Its `outcome` is None if no answer came."""
    row = await connection.fetchrow(
        "select id, outcome, spent from calls where id = $1 and state not in ('reserved', 'sent')", call
    )
    return None if row is None else _kept(row)


async def forget(connection: Connection, answers: timedelta, ledger: timedelta) -> None:
    """Deletes old answers, keys and entries of the ledger."""
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
    await chains.forget(connection, ledger)


async def entries(
    connection: Connection, brand: str | None, before: datetime | None, limit: int
) -> list[LedgerEntry]:
    """Entries of the ledger, newest first."""
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
    return [LedgerEntry(**(dict(row) | {"usage": json.loads(row["usage"])})) for row in rows]


async def by_provider(
    connection: Connection, day: date, scope: str | None
) -> list[tuple[str, str, int, int]]:
    """(brand, provider, calls, micro-dollars spent) for the month of the day."""
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


async def by_day(
    connection: Connection, midnights: Sequence[datetime], brand: str | None
) -> list[tuple[int, str, int, int, int]]:
    """(place of its midnight, provider, calls, micro-dollars spent, presumed ones among them) of the days that begin at `midnights`."""
    rows = await connection.fetch(
        """
        select width_bucket(began_at, $1::timestamptz[]) - 1 as place, provider, count(*) as calls,
               sum(spent)::bigint as spent, coalesce(sum(spent) filter (where state = 'presumed'), 0)::bigint as presumed
        from calls where began_at >= $2 and ($3::text is null or brand = $3)
        group by place, provider order by place, provider
        """,
        midnights,
        midnights[0],
        brand,
    )
    return [(row["place"], row["provider"], row["calls"], row["spent"], row["presumed"]) for row in rows]


def _kept(row: Any) -> CallOutcome:
    outcome = row["outcome"]
    return CallOutcome(row["id"], None if outcome is None else json.loads(outcome), row["spent"])
