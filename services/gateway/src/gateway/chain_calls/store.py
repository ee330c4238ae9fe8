"""SQL over the calls of chains, and over what chains with a limit have spent."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias
from uuid import UUID

from chassis import Connection

CallKind: TypeAlias = Literal["model", "search", "page", "account"]


@dataclass(frozen=True, slots=True)
class NewChainCall:
    """A call for a chain, as it begins."""

    chain: str
    brand: str | None
    kind: CallKind
    target: str
    """Name of the account, or the host of a page."""
    subject: str
    call_id: UUID | None = None
    is_limited: bool = False


@dataclass(frozen=True, slots=True)
class ChainCall:
    """A call that was made for a chain; the amount in micro-dollars."""

    id: UUID
    brand: str | None
    kind: CallKind
    target: str
    subject: str
    began_at: datetime
    ended_at: datetime | None
    state: str
    """As in the ledger; `settled` or `sent` for calls that are not in it."""
    spent: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class ChainTotals:
    calls: int
    spent: int
    """Micro-dollars, calls of dead processes at their maximum."""


async def begin(connection: Connection, call: NewChainCall) -> UUID:
    """Records a call that begins; returns its id."""
    made: UUID = await connection.fetchval(
        """
        insert into chain_calls (chain, brand, kind, target, subject, call_id, is_limited)
        values ($1, $2, $3, $4, $5, $6, $7) returning id
        """,
        call.chain,
        call.brand,
        call.kind,
        call.target,
        call.subject,
        call.call_id,
        call.is_limited,
    )
    return made


async def end(connection: Connection, call: UUID, problem: str | None) -> None:
    """Records the end of a call that is not in the ledger."""
    await connection.execute(
        "update chain_calls set ended_at = clock_timestamp(), problem = $2 where id = $1", call, problem
    )


async def page(connection: Connection, chain: str, after: UUID | None, limit: int) -> list[ChainCall]:
    """Calls of a chain, the oldest first, after the call `after`."""
    rows = await connection.fetch(
        """
        select c.id, c.brand, c.kind, c.target, c.subject, c.began_at, coalesce(l.ended_at, c.ended_at) as ended_at,
               coalesce(l.state, case when c.ended_at is null then 'sent' else 'settled' end) as state,
               coalesce(l.spent, 0) as spent, coalesce(c.problem, l.outcome->'problem'->>'type') as problem
        from chain_calls as c left join calls as l on l.id = c.call_id
        where c.chain = $1 and ($2::uuid is null or (c.began_at, c.id) > (select began_at, id from chain_calls where id = $2))
        order by c.began_at, c.id limit $3
        """,
        chain,
        after,
        limit,
    )
    return [ChainCall(**row) for row in rows]


async def totals(connection: Connection, chain: str) -> ChainTotals:
    """Number and cost of all calls of a chain."""
    row = await connection.fetchrow(
        """
        select count(*) as calls, coalesce(sum(l.spent), 0)::bigint as spent
        from chain_calls as c left join calls as l on l.id = c.call_id where c.chain = $1
        """,
        chain,
    )
    assert row is not None
    return ChainTotals(row["calls"], row["spent"])


async def forget(connection: Connection, kept: timedelta) -> None:
    """Deletes old calls, and what chains spent that have made none since."""
    await connection.execute(
        "delete from chain_calls where began_at < clock_timestamp() - $1::interval", kept
    )
    await connection.execute(
        "delete from chain_spend where changed_at < clock_timestamp() - $1::interval and reserved = 0", kept
    )
