"""SQL for requests under way and for fences, which stop replaced processes."""

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final
from uuid import UUID

from chassis import Connection
from gateway.accounts.domain import FenceReason, FenceState, ReceiptStep, fence_reason
from gateway.problems import CallProblem, CallProblemError

FENCES_KEPT_FOR: Final = timedelta(days=30)
"""How long fences are stored. A process that was paused for longer is past its own deadline."""


async def pass_fence(connection: Connection, effect: ReceiptStep) -> None:
    """Raises the receipt's fence to that of the request, unless a request with a lower fence may still write.

    The receipt's row stays locked until the transaction ends. Record the request as under way in the same
    transaction.

    Raises:
        CallProblemError: `call.fenced`, `call.under_way`.
    """
    await connection.execute(
        "insert into account_effects (receipt_id, fence) values ($1, $2) on conflict do nothing",
        effect.receipt_id,
        effect.fence,
    )
    fence: int = await connection.fetchval(
        "select fence from account_effects where receipt_id = $1 for update", effect.receipt_id
    )
    # Read after the lock: earlier transactions have recorded their requests by now.
    row = await connection.fetchrow(
        """
        select max(until) as until, clock_timestamp() as now from account_calls
        where receipt_id = $1 and fence < $2 and sends and until > clock_timestamp()
        """,
        effect.receipt_id,
        effect.fence,
    )
    assert row is not None
    match fence_reason(effect.fence, FenceState(fence, row["until"]), row["now"]):
        case FenceReason.REPLACED:
            raise CallProblemError(_replaced(fence))
        case FenceReason.UNDER_WAY:
            raise CallProblemError(_under_way(row["until"]))
        case None:
            await connection.execute(
                "update account_effects set fence = $2, seen_at = clock_timestamp() where receipt_id = $1",
                effect.receipt_id,
                effect.fence,
            )


async def begin(
    connection: Connection, account: str, brand: str, effect: ReceiptStep | None, within: timedelta
) -> UUID:
    """Records that a request is under way, and until when it may write."""
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
    """Removes a request after its answer, or after its connection was closed: no write can follow."""
    await connection.execute("delete from account_calls where id = $1", call)


GATE: Final = "accounts/"
"""Prefix of an account's name in the table `gates`; it separates accounts from providers."""


async def forget(connection: Connection) -> None:
    """Deletes expired requests, fences and log-ins."""
    await connection.execute(
        "delete from account_calls where until < clock_timestamp() - interval '1 hour'",
    )
    await connection.execute(
        "delete from account_effects where seen_at < clock_timestamp() - $1::interval", FENCES_KEPT_FOR
    )
    await connection.execute("delete from account_authorizations where expires_at < clock_timestamp()")


def _replaced(fence: int) -> CallProblem:
    return CallProblem(
        "call.fenced",
        f"the receipt has been taken over since (its fence is {fence} by now); the process that took it over continues",
        HTTPStatus.CONFLICT,
    )


def _under_way(until: datetime) -> CallProblem:
    return CallProblem(
        "call.under_way",
        "a request of the same receipt may still arrive; look again when it cannot any more",
        HTTPStatus.CONFLICT,
        transient=True,
        retry_at=until,
    )
