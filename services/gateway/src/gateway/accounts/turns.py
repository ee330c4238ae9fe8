"""When a request to an account may go: those of all replicas one after the other, fenced, and no more than the account may be asked."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection, Connections, DatabaseUnavailableError
from gateway.accounts import fences
from gateway.accounts.domain import OPERATORS, Effect
from gateway.accounts.registry import Opened
from gateway.accounts.sending import Deadline
from gateway.limits import Gates, Wait
from gateway.problems import Problem, ProblemError

log = structlog.get_logger(__name__)

_PATIENCE: Final = 5.0
"""Seconds for a turn; whoever has to wait longer comes back."""
_MARGIN: Final = timedelta(seconds=1)
"""From when a request writes nothing any more until nobody waits for it."""


class Turns:
    """One for the process; what it says is shared by all.

    Args:
        connections: of the gateway's database.
        gates: how much each account may be asked.
    """

    def __init__(self, connections: Connections, gates: Gates) -> None:
        self._connections = connections
        self._gates = gates

    async def begin(
        self, opened: Opened, brand: str | None, effect: Effect | None, deadline: Deadline
    ) -> UUID:
        """The request's place among those under way, once its turn has come.

        Raises:
            ProblemError: `limit.reached`, `call.fenced`, `call.under_way`.
        """
        clock = asyncio.get_running_loop().time
        patience = clock() + min(_PATIENCE, deadline.left / 2)
        while True:
            async with self._connections.connection() as connection, connection.transaction():
                decided = await self.turn(connection, opened, brand, effect, deadline)
            if isinstance(decided, UUID):
                return decided
            seconds = decided.time.total_seconds()
            if clock() + seconds > patience:
                raise ProblemError(waits(decided))
            # Not all at the same moment: they would wait for each other's locks.
            await asyncio.sleep(seconds * random.uniform(1.0, 1.2))  # noqa: S311  (no secret)

    async def turn(
        self,
        connection: Connection,
        opened: Opened,
        brand: str | None,
        effect: Effect | None,
        deadline: Deadline,
    ) -> UUID | Wait:
        """The same in the transaction at hand: the request's place, or how long to wait.

        Raises:
            ProblemError: `call.fenced`, `call.under_way`.
        """
        name, who = opened.account.name, brand or OPERATORS
        if effect is not None:
            await fences.pass_fence(connection, effect)
        decided = await self._gates.turn(
            connection, f"{fences.GATE}{name}", who, opened.settings.bounds(deadline.left)
        )
        if isinstance(decided, Wait):
            return decided
        # What is left is looked up before the row is written: the time in the row ends after the request's own.
        within = timedelta(seconds=deadline.left) + _MARGIN
        return await fences.begin(connection, name, who, effect, within)

    async def end(self, call: UUID) -> None:
        """Nothing of it is under way any more."""
        try:
            async with self._connections.connection() as connection:
                await fences.end(connection, call)
        except DatabaseUnavailableError as error:
            # Its time ends by itself.
            log.warning("account_call_not_ended", call_id=str(call), error=str(error))

    async def rest(self, opened: Opened, pause: timedelta) -> None:
        """Nobody asks the account for so long: its own side wants that."""
        await self._gates.answered(f"{fences.GATE}{opened.account.name}", pause)


def waits(wait: Wait) -> Problem:
    return Problem(
        "limit.reached",
        wait.problem.detail,
        HTTPStatus.TOO_MANY_REQUESTS,
        transient=True,
        retry_at=datetime.now(UTC) + wait.time,
    )
