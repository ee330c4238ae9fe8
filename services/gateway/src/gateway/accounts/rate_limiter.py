"""Limits requests to accounts over all replicas, and passes their fences."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection, Connections, DatabaseUnavailableError
from gateway.accounts import fences
from gateway.accounts.domain import OPERATORS, ReceiptStep
from gateway.accounts.registry import UnsealedAccount
from gateway.accounts.sender import Deadline
from gateway.limits import PermitDelay, RateLimiter
from gateway.problems import CallProblem, CallProblemError

log = structlog.get_logger(__name__)

_PATIENCE: Final = 5.0
"""The longest wait for a turn, in seconds; after it the caller gets `limit.reached`."""
_MARGIN: Final = timedelta(seconds=1)
"""Time between a request's last write and the end of its row."""


class AccountRateLimiter:
    """Admits requests to accounts; all replicas share its state in the database.

    Args:
        connections: of the gateway's database.
        limiter: counts the requests of each account.
    """

    def __init__(self, connections: Connections, limiter: RateLimiter) -> None:
        self._connections = connections
        self._limiter = limiter

    async def begin(
        self, unsealed: UnsealedAccount, brand: str | None, effect: ReceiptStep | None, deadline: Deadline
    ) -> UUID:
        """Waits for the request's turn and records it as under way; returns its id.

        Raises:
            CallProblemError: `limit.reached`, `call.fenced`, `call.under_way`.
        """
        clock = asyncio.get_running_loop().time
        patience = clock() + min(_PATIENCE, deadline.left / 2)
        while True:
            async with self._connections.connection() as connection, connection.transaction():
                decided = await self.turn(connection, unsealed, brand, effect, deadline)
            if isinstance(decided, UUID):
                return decided
            seconds = decided.time.total_seconds()
            if clock() + seconds > patience:
                raise CallProblemError(limit_problem(decided))
            # A random extra delay, so that waiters do not block each other's locks.
            await asyncio.sleep(seconds * random.uniform(1.0, 1.2))  # noqa: S311  (no secret)

    async def turn(
        self,
        connection: Connection,
        unsealed: UnsealedAccount,
        brand: str | None,
        effect: ReceiptStep | None,
        deadline: Deadline,
    ) -> UUID | PermitDelay:
        """Tries once, in the present transaction; returns the request's id, or how long to wait.

        Raises:
            CallProblemError: `call.fenced`, `call.under_way`.
        """
        name, who = unsealed.account.name, brand or OPERATORS
        if effect is not None:
            await fences.pass_fence(connection, effect)
        decided = await self._limiter.turn(
            connection, f"{fences.GATE}{name}", who, unsealed.settings.bounds(deadline.left)
        )
        if isinstance(decided, PermitDelay):
            return decided
        # Computed before the insert, so the row expires after the request's own deadline.
        within = timedelta(seconds=deadline.left) + _MARGIN
        return await fences.begin(connection, name, who, effect, within)

    async def end(self, call: UUID) -> None:
        """Removes a request that has ended."""
        try:
            async with self._connections.connection() as connection:
                await fences.end(connection, call)
        except DatabaseUnavailableError as error:
            # The row expires without help.
            log.warning("account_call_not_ended", call_id=str(call), error=str(error))

    async def pause_account(self, unsealed: UnsealedAccount, pause: timedelta) -> None:
        """Stops requests to the account for this long, because its provider wants a pause."""
        await self._limiter.answered(f"{fences.GATE}{unsealed.account.name}", pause)


def limit_problem(wait: PermitDelay) -> CallProblem:
    return CallProblem(
        "limit.reached",
        wait.problem.detail,
        HTTPStatus.TOO_MANY_REQUESTS,
        transient=True,
        retry_at=datetime.now(UTC) + wait.time,
    )
