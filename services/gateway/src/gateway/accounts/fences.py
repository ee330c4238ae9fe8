"""Requests under way, in the database: whose turn it is, and who has been replaced. The statements."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final
from uuid import UUID

from chassis import Connection
from gateway.accounts.domain import Effect, Fenced, Seen, decide
from gateway.problems import Problem, ProblemError

KEPT: Final = timedelta(days=30)
"""How long fences are known. Whoever was paused for longer finds his own deadline over."""


async def pass_fence(connection: Connection, effect: Effect) -> None:
    """Lets a request through that has the highest fence, while nothing of a lower one may still be written.

    The row of the receipt stays locked until the transaction ends, in which it must be written that the request is under way.

    Raises:
        ProblemError: `call.fenced`, `call.under_way`.
    """
    await connection.execute(
        "insert into account_effects (receipt_id, fence) values ($1, $2) on conflict do nothing",
        effect.receipt_id,
        effect.fence,
    )
    fence: int = await connection.fetchval(
        "select fence from account_effects where receipt_id = $1 for update", effect.receipt_id
    )
    # After the lock: whoever was before us has written down what he sends.
    row = await connection.fetchrow(
        """
        select max(until) as until, clock_timestamp() as now from account_calls
        where receipt_id = $1 and fence < $2 and sends and until > clock_timestamp()
        """,
        effect.receipt_id,
        effect.fence,
    )
    assert row is not None
    match decide(effect.fence, Seen(fence, row["until"]), row["now"]):
        case Fenced.REPLACED:
            raise ProblemError(_replaced(fence))
        case Fenced.UNDER_WAY:
            raise ProblemError(_under_way(row["until"]))
        case None:
            await connection.execute(
                "update account_effects set fence = $2, seen_at = clock_timestamp() where receipt_id = $1",
                effect.receipt_id,
                effect.fence,
            )


async def begin(
    connection: Connection, account: str, brand: str, effect: Effect | None, within: timedelta
) -> UUID:
    """Writes down that a request is under way, and until when something of it may be written."""
    call: UUID = await connection.fetchval(
        """
        insert into account_calls (account, brand, receipt_id, fence, sends, until)
        values ($1, $2, $3, $4, $5, clock_timestamp() + $6::interval) returning id
        """,
        account,
        brand,
        effect and effect.receipt_id,
        effect and effect.fence,
        effect is None or effect.sends,
        within,
    )
    return call


async def end(connection: Connection, call: UUID) -> None:
    """Its answer is there, or its connection closed: nothing of it is written any more."""
    await connection.execute("delete from account_calls where id = $1", call)


GATE: Final = "accounts/"
"""Before the name of an account where its gate is meant, so that it is no provider's."""
UNDER_WAY: Final = """
    select brand, count(*) as calls from account_calls
    where account = substr($1, length('accounts/') + 1) and until > clock_timestamp() group by brand
"""
"""Requests of the account of a gate under way, by brand; those whose time is over do not count."""


async def forget(connection: Connection) -> None:
    """Takes away what nobody asks about any more."""
    await connection.execute(
        "delete from account_calls where until < clock_timestamp() - interval '1 hour'",
    )
    await connection.execute(
        "delete from account_effects where seen_at < clock_timestamp() - $1::interval", KEPT
    )
    await connection.execute("delete from account_authorizations where expires_at < clock_timestamp()")


def _replaced(fence: int) -> Problem:
    return Problem(
        "call.fenced",
        f"the receipt has been taken over since (its fence is {fence} by now); whoever has taken it over goes on with it",
        HTTPStatus.CONFLICT,
    )


def _under_way(until: datetime) -> Problem:
    return Problem(
        "call.under_way",
        "a request of the same receipt may still arrive; look again when it cannot any more",
        HTTPStatus.CONFLICT,
        transient=True,
        retry_at=until,
    )
