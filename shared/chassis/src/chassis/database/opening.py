"""A transaction that begins with its first statement, in one round trip.

PostgreSQL runs several commands of one request in turn, but takes no parameters for them. So the statement is prepared
under a name, once for a connection, and run by that name with its arguments written out. What is relied on is that asyncpg
begins a transaction by `execute`; where it does not, the statement is left to its user to run.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement without result rows, and the name that a connection knows it by."""

    name: str
    types: str
    """Of its parameters, as in `uuid[], text`."""
    sql: str


@dataclass(frozen=True, slots=True)
class Call:
    """A prepared statement and its arguments as SQL; whoever writes them answers for what is in them."""

    statement: Prepared
    arguments: str


class OpeningConnection(_Connection):
    """A connection that can be told what its next transaction begins with."""

    _known: frozenset[str] = frozenset()
    _opening: str | None = None
    _wrote: int | None = None
    _refused: asyncpg.PostgresError | None = None

    async def begin_with(self, call: Call) -> None:
        """The next transaction begins with this."""
        statement = call.statement
        if statement.name not in self._known:
            # Known by now, if only its answer was lost.
            with suppress(asyncpg.DuplicatePreparedStatementError):
                await self.execute(f"prepare {statement.name} ({statement.types}) as {statement.sql}")
            self._known |= {statement.name}
        self._opening, self._wrote, self._refused = f"execute {statement.name} ({call.arguments})", None, None

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:  # noqa: ASYNC109  (asyncpg's parameter)
        if self._opening is None or not query.startswith("BEGIN"):
            return await super().execute(query, *args, timeout=timeout)
        opening, self._opening = self._opening, None
        try:
            status = await super().execute(f"{query.rstrip(';')}; {opening}", timeout=timeout)
        except asyncpg.PostgresError as error:
            if not self.is_in_transaction():
                raise
            # The transaction has begun, and has to be left as after any statement that failed in it.
            self._refused = error
        else:
            self._wrote = int(status.rpartition(" ")[2])
        return "BEGIN"

    def opened(self) -> int | None:
        """How many rows the first statement wrote; None if it was not run. Raises what it failed with."""
        self._opening = None
        refused, self._refused = self._refused, None
        if refused is not None:
            raise refused
        return self._wrote


@asynccontextmanager
async def opened_with(connection: Any, call: Call | None) -> AsyncIterator[int | None]:
    """A transaction over the block, and how many rows its first statement wrote, if it is given one.

    None: it was not run, as where the transaction is a part of another. Then the block has to do itself what it is for.
    """
    if call is None or not hasattr(connection, "begin_with") or connection.is_in_transaction():
        async with connection.transaction():
            yield None
        return
    await connection.begin_with(call)
    async with connection.transaction():
        yield connection.opened()
