"""SQL for budgets and caps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from chassis import Connection
from gateway.money.domain import ALL, BudgetPeriod, BudgetUse, Charge, SpendingCaps


@dataclass(frozen=True, slots=True)
class BudgetAccount:
    """Spending of one scope in one period, in micro-dollars."""

    scope: str
    period: BudgetPeriod
    begins: date
    spent: int
    reserved: int


@dataclass(frozen=True, slots=True)
class OperatorCaps:
    """Caps that an operator has set for a scope; None: the default holds."""

    scope: str
    day: int | None
    month: int | None
    stopped_at: datetime | None
    stopped_why: str | None


async def today(connection: Connection) -> date:
    """The current day in UTC, by the database's clock."""
    day: date = await connection.fetchval("select (clock_timestamp() at time zone 'utc')::date")
    return day


async def lock(
    connection: Connection, brand: str, amount: int
) -> tuple[Charge, dict[tuple[str, BudgetPeriod], BudgetUse]]:
    """Locks the accounts of a new call until the transaction ends; returns what each has spent and set aside.

    The order is always that of `Charge.accounts`.
    """
    scopes = sorted({ALL, brand})
    while True:
        rows = await connection.fetch(
            """
            with today as materialized (select (clock_timestamp() at time zone 'utc')::date as day),
            wanted as (
                select day, scope, period, case period when 'day' then day else date_trunc('month', day)::date end as begins
                from today, unnest($1::text[]) as scope, unnest(array['day', 'month']) as period
            )
            select day, scope, period, spent, reserved from spend join wanted using (scope, period, begins)
            order by scope, period for update of spend
            """,
            scopes,
        )
        taken = {
            (row["scope"], BudgetPeriod(row["period"])): BudgetUse(row["spent"], row["reserved"])
            for row in rows
        }
        if len(taken) == len(scopes) * len(BudgetPeriod):
            return Charge(brand, rows[0]["day"], amount), taken
        # The first call of a day.
        await connection.execute(
            """
            insert into spend (scope, period, begins)
            select * from unnest($1::text[], $2::text[], $3::date[]) on conflict do nothing
            """,
            *columns(Charge(brand, await today(connection), amount)),
        )


async def lock_again(connection: Connection, charge: Charge) -> None:
    """Locks the accounts of an earlier charge, in the same order."""
    await connection.execute(
        """
        select from spend join unnest($1::text[], $2::text[], $3::date[]) as wanted (scope, period, begins)
            using (scope, period, begins)
        order by scope, period, begins for update of spend
        """,
        *columns(charge),
    )


async def lock_chain(connection: Connection, brand: str, chain: str) -> BudgetUse:
    """Locks what a chain with a limit has spent until the transaction ends, after the accounts of its call."""
    row = await connection.fetchrow(
        """
        insert into chain_spend (brand, chain) values ($1, $2)
        on conflict (brand, chain) do update set changed_at = clock_timestamp() returning spent, reserved
        """,
        brand,
        chain,
    )
    assert row is not None
    return BudgetUse(row["spent"], row["reserved"])


async def add_to_chain(connection: Connection, charge: Charge, *, reserved: int, spent: int) -> None:
    """Adds to what the charge's chain has spent and set aside, if it has a limit; either amount may be negative."""
    if charge.chain is not None:
        await connection.execute(
            """
            update chain_spend set reserved = reserved + $3, spent = spent + $4, changed_at = clock_timestamp()
            where brand = $1 and chain = $2
            """,
            charge.brand,
            charge.chain,
            reserved,
            spent,
        )


async def add(connection: Connection, charge: Charge, *, reserved: int, spent: int) -> None:
    """Adds to the locked accounts of a charge; either amount may be negative."""
    await connection.execute(
        """
        update spend set reserved = spend.reserved + $4, spent = spend.spent + $5
        from unnest($1::text[], $2::text[], $3::date[]) as wanted (scope, period, begins)
        where spend.scope = wanted.scope and spend.period = wanted.period and spend.begins = wanted.begins
        """,
        *columns(charge),
        reserved,
        spent,
    )
    await add_to_chain(connection, charge, reserved=reserved, spent=spent)


def columns(charge: Charge) -> tuple[list[str], list[str], list[date]]:
    """The accounts of a charge as columns: scopes, periods and beginnings."""
    scopes, periods, beginnings = zip(*charge.accounts, strict=True)
    return list(scopes), [period.value for period in periods], list(beginnings)


async def own_caps(connection: Connection, scopes: Sequence[str] | None = None) -> dict[str, OperatorCaps]:
    """Operators' caps by scope; of all scopes if `scopes` is None."""
    rows = await connection.fetch(
        """
        select scope, day, month, stopped_at, stopped_why from caps
        where $1::text[] is null or scope = any($1) order by scope
        """,
        None if scopes is None else list(scopes),
    )
    return {row["scope"]: OperatorCaps(**dict(row)) for row in rows}


async def set_caps(connection: Connection, scope: str, day: int | None, month: int | None) -> None:
    await connection.execute(
        """
        insert into caps (scope, day, month) values ($1, $2, $3)
        on conflict (scope) do update set day = excluded.day, month = excluded.month
        """,
        scope,
        day,
        month,
    )


async def stop(connection: Connection, scope: str, why: str) -> None:
    await connection.execute(
        """
        insert into caps (scope, stopped_at, stopped_why) values ($1, clock_timestamp(), $2)
        on conflict (scope) do update
        set stopped_at = coalesce(caps.stopped_at, excluded.stopped_at), stopped_why = excluded.stopped_why
        """,
        scope,
        why,
    )


async def resume(connection: Connection, scope: str) -> None:
    await connection.execute("update caps set stopped_at = null, stopped_why = null where scope = $1", scope)


async def accounts(connection: Connection, day: date, scope: str | None) -> list[BudgetAccount]:
    """Spending of the day and its month, for one scope or all."""
    rows: list[Any] = await connection.fetch(
        """
        select scope, period, begins, spent, reserved from spend
        where ($2::text is null or scope = $2)
          and ((period = 'day' and begins = $1) or (period = 'month' and begins = date_trunc('month', $1::date)::date))
        order by scope, period
        """,
        day,
        scope,
    )
    return [
        BudgetAccount(row["scope"], BudgetPeriod(row["period"]), row["begins"], row["spent"], row["reserved"])
        for row in rows
    ]


async def spent_since(connection: Connection, day: date, scope: str | None) -> dict[str, int]:
    """Micro-dollars spent since the day, by scope."""
    rows = await connection.fetch(
        """
        select scope, sum(spent)::bigint as spent from spend
        where period = 'day' and begins >= $1 and ($2::text is null or scope = $2) group by scope
        """,
        day,
        scope,
    )
    return {row["scope"]: row["spent"] for row in rows}


def effective(own: OperatorCaps | None, default: SpendingCaps) -> SpendingCaps:
    """The operator's caps, completed by the defaults."""
    if own is None:
        return default
    return SpendingCaps(
        default.day if own.day is None else own.day,
        default.month if own.month is None else own.month,
        None if own.stopped_at is None else (own.stopped_why or ""),
    )
