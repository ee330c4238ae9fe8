"""Stores rate limits in the database, and records providers' answers and failures."""

import json
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from chassis import Connection, Connections, DatabaseUnavailableError
from gateway.limits.domain import FAILURES, GateState, Permit, PermitDelay, RateLimits, decide, pause_after
from gateway.problems import CallProblem

log = structlog.get_logger(__name__)

_LATELY: Final = timedelta(minutes=1)
_LONGEST_CLOSED: Final = timedelta(hours=1)
"""A longer pause is cut to this: it may be a mistake, and a refused request costs nothing."""

_COUNTING: Final = """
    select nullif(mine.next_at, '-infinity') as brand_next_at, clock_timestamp() as now,
        1 + (
            select count(*) from gate_turns
            where account = $1 and brand <> $2 and asked_at > clock_timestamp() - $3::interval
        ) as brands,
        (select json_object_agg(brand, calls) from requests_under_way($1)) as under_way
    from (select) as request left join gate_turns as mine on account = $1 and brand = $2
"""


async def list_closed(connection: Connection) -> dict[str, str]:
    """Accounts that get no requests now, with the reason: `failing` or `limited`."""
    rows = await connection.fetch(
        "select account, failures >= $1 as failing from gates where closed_until > clock_timestamp()",
        FAILURES,
    )
    return {row["account"]: "failing" if row["failing"] else "limited" for row in rows}


class RateLimiter:
    """Admits requests; the process has one, and all replicas share its state."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._failing: set[str] = set()
        """Accounts with failures when this process last looked; only their answers need a reset."""

    async def turn(
        self, connection: Connection, account: str, brand: str, bounds: RateLimits
    ) -> Permit | PermitDelay:
        """Asks for a permit for one request.

        The account stays locked until the transaction ends. Record the request as under way in the same transaction.
        """
        gate, now = await self._look(connection, account, brand)
        decided = decide(account, brand, gate, bounds, now)
        if isinstance(decided, Permit):
            await connection.execute(
                """
                with gate as (update gates set next_at = $3, closed_until = $4 where account = $1)
                insert into gate_turns (account, brand, next_at) values ($1, $2, $5)
                on conflict (account, brand) do update set next_at = excluded.next_at, asked_at = excluded.asked_at
                """,
                account,
                brand,
                decided.next_at,
                decided.probe_until,
                decided.brand_next_at,
            )
        else:
            await connection.execute(
                """
                insert into gate_turns (account, brand) values ($1, $2)
                on conflict (account, brand) do update set asked_at = excluded.asked_at
                """,
                account,
                brand,
            )
        return decided

    async def _look(self, connection: Connection, account: str, brand: str) -> tuple[GateState, datetime]:
        row = await self._lock(connection, account)
        # Read after the lock: earlier transactions have recorded their requests by now.
        counted = await connection.fetchrow(_COUNTING, account, brand, _LATELY)
        assert counted is not None
        if row["failures"]:
            self._failing.add(account)
        else:
            self._failing.discard(account)
        gate = GateState(
            row["next_at"],
            row["failures"],
            row["closed_until"],
            row["closed_why"],
            counted["brand_next_at"],
            counted["brands"],
            json.loads(counted["under_way"] or "{}"),
        )
        return gate, counted["now"]

    async def _lock(self, connection: Connection, account: str) -> Any:
        while True:
            row = await connection.fetchrow(
                """
                select nullif(next_at, '-infinity') as next_at, failures, closed_until, closed_why
                from gates where account = $1 for update
                """,
                account,
            )
            if row is not None:
                return row
            await connection.execute(
                "insert into gates (account) values ($1) on conflict do nothing", account
            )

    async def answered(self, account: str, pause: timedelta | None = None) -> None:
        """Records an answer: resets failures, and stores a pause if the provider wants one."""
        if account in self._failing:
            await self._write(
                """
                update gates set failures = 0, closed_until = case when failures >= 5 then null else closed_until end
                where account = $1 and failures > 0
                """,
                account,
            )
        if pause:
            await self._close(account, pause, "its limit is reached")

    async def failed(self, account: str, problem: CallProblem) -> None:
        """Records a failure, and pauses requests where it calls for that."""
        match problem.type:
            case "provider.limited":
                await self._close(account, problem.after or timedelta(), problem.detail)
            case "provider.away" | "provider.no_answer":
                await self._count_failure(account, problem.detail)
            case _:
                # The provider answered, so it is reachable.
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
        self._failing.add(account)
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
        """Writes; logs a database outage and continues, since the provider's answer matters more."""
        try:
            async with self._connections.connection() as connection:
                await connection.execute(statement, *values)
        except DatabaseUnavailableError as error:
            log.warning("gate_not_written", account=values[0], error=str(error))
