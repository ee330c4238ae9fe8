"""The gates of accounts in the database: the statements, and what is heard of providers."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

import structlog

from chassis import Connection, Connections, DatabaseUnavailableError
from gateway.limits.domain import FAILURES, Bounds, Gate, Go, Wait, decide, pause_after
from gateway.problems import Problem

log = structlog.get_logger(__name__)

_LATELY: Final = timedelta(minutes=1)
_LONGEST_CLOSED: Final = timedelta(hours=1)
"""A provider that asks for more is asked again then: it may have been a mistake, and asking costs nothing."""

UnderWay = Callable[[Connection, str], Awaitable[Mapping[str, int]]]
"""The account's requests under way by brand, as of this transaction."""


async def closed(connection: Connection) -> dict[str, str]:
    """Accounts that nobody asks for now, and why: `failing` or `limited`."""
    rows = await connection.fetch(
        "select account, failures >= $1 as failing from gates where closed_until > clock_timestamp()",
        FAILURES,
    )
    return {row["account"]: "failing" if row["failing"] else "limited" for row in rows}


class Gates:
    """One for the process; what they say is shared by all."""

    def __init__(self, connections: Connections, under_way: UnderWay) -> None:
        self._connections = connections
        self._under_way = under_way

    async def turn(self, connection: Connection, account: str, brand: str, bounds: Bounds) -> Go | Wait:
        """Whether a request may go now.

        The gate stays locked until the transaction ends, in which it must be written that the request is under way.
        """
        gate, now = await self._look(connection, account, brand)
        decided = decide(account, brand, gate, bounds, now)
        if isinstance(decided, Go):
            await connection.execute(
                "update gates set next_at = $2, closed_until = $3 where account = $1",
                account,
                decided.next_at,
                decided.probe_until,
            )
            await connection.execute(
                "update gate_turns set next_at = $3 where account = $1 and brand = $2",
                account,
                brand,
                decided.brand_next_at,
            )
        return decided

    async def _look(self, connection: Connection, account: str, brand: str) -> tuple[Gate, datetime]:
        await connection.execute("insert into gates (account) values ($1) on conflict do nothing", account)
        row = await connection.fetchrow(
            """
            select nullif(next_at, '-infinity') as next_at, failures, closed_until, closed_why
            from gates where account = $1 for update
            """,
            account,
        )
        assert row is not None
        brand_next_at = await connection.fetchval(
            """
            insert into gate_turns (account, brand) values ($1, $2)
            on conflict (account, brand) do update set asked_at = clock_timestamp()
            returning nullif(next_at, '-infinity')
            """,
            account,
            brand,
        )
        counted = await connection.fetchrow(
            """
            select count(*) as brands, clock_timestamp() as now from gate_turns
            where account = $1 and asked_at > clock_timestamp() - $2::interval
            """,
            account,
            _LATELY,
        )
        assert counted is not None
        gate = Gate(
            row["next_at"],
            row["failures"],
            row["closed_until"],
            row["closed_why"],
            brand_next_at,
            max(counted["brands"], 1),
            await self._under_way(connection, account),
        )
        return gate, counted["now"]

    async def answered(self, account: str, pause: timedelta | None = None) -> None:
        """It works, though it may ask us to pause."""
        await self._write(
            """
            update gates set failures = 0, closed_until = case when failures >= 5 then null else closed_until end
            where account = $1 and failures > 0
            """,
            account,
        )
        if pause:
            await self._close(account, pause, "its limit is reached")

    async def failed(self, account: str, problem: Problem) -> None:
        """What a provider's failure says about asking it again."""
        match problem.type:
            case "provider.limited":
                await self._close(account, problem.after or timedelta(), problem.detail)
            case "provider.away" | "provider.no_answer":
                await self._count_failure(account, problem.detail)
            case _:
                # It answered, so it is there.
                await self.answered(account)

    async def _close(self, account: str, time: timedelta, why: str) -> None:
        await self._write(
            """
            update gates set closed_why = $3,
                closed_until = greatest(closed_until, clock_timestamp() + $2::interval) where account = $1
            """,
            account,
            min(time, _LONGEST_CLOSED),
            why,
        )

    async def _count_failure(self, account: str, why: str) -> None:
        try:
            async with self._connections.connection() as connection, connection.transaction():
                failures = await connection.fetchval(
                    "update gates set failures = failures + 1 where account = $1 returning failures", account
                )
                if failures is not None and (pause := pause_after(failures)) is not None:
                    log.warning(
                        "provider_failing", account=account, failures=failures, pause=pause.total_seconds()
                    )
                    await connection.execute(
                        """
                        update gates set closed_until = clock_timestamp() + $2::interval, closed_why = $3
                        where account = $1
                        """,
                        account,
                        pause,
                        why,
                    )
        except DatabaseUnavailableError as error:
            log.warning("gate_not_written", account=account, error=str(error))

    async def _write(self, statement: str, *values: object) -> None:
        """An outage loses it: the answer that it came with matters more."""
        try:
            async with self._connections.connection() as connection:
                await connection.execute(statement, *values)
        except DatabaseUnavailableError as error:
            log.warning("gate_not_written", account=values[0], error=str(error))
