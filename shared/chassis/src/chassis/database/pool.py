"""Connections to the process's own database, transactions over several calls, and the detection of outages."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import asyncpg
import structlog

if TYPE_CHECKING:
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record] | asyncpg.Connection[asyncpg.Record]
    Pool = asyncpg.Pool[asyncpg.Record]
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    Connection = _Connection = asyncpg.Connection
    Pool = asyncpg.Pool

log = structlog.get_logger(__name__)

STATEMENT_SECONDS: Final = 30.0
"""Limit on every statement; it also detects silent connections."""

_OUTAGE: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shutting down, crashed, starting up
    asyncpg.InsufficientResourcesError,  # disk full, out of memory, too many connections
    asyncpg.ReadOnlySQLTransactionError,  # still talking to the old primary after a fail-over
    asyncpg.InvalidAuthorizationSpecificationError,  # a rotated password
    asyncpg.InvalidCatalogNameError,
    asyncpg.InternalClientError,  # used again after the server died, before the socket says that it is closed
    OSError,
    TimeoutError,
)


class DatabaseUnavailableError(Exception):
    """The process's database is unreachable or refuses work; the statement itself may be fine."""


def outage_in(error: BaseException) -> DatabaseUnavailableError | None:
    """Return the outage in an error or in a nested `ExceptionGroup`; None if it has any other error as well."""
    if isinstance(error, DatabaseUnavailableError):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    outages = [outage_in(each) for each in error.exceptions]
    return None if None in outages else outages[0]


def is_outage(error: BaseException) -> bool:
    """Return whether an error of a database call means an outage instead of a wrong call."""
    if isinstance(error, asyncpg.QueryCanceledError):
        return False
    if isinstance(error, asyncpg.InterfaceError):
        # The same class reports misuse; only the text differs.
        return "closed" in str(error) or "connection was" in str(error)
    return isinstance(error, _OUTAGE)


def _told(error: BaseException) -> str:
    hint = ""
    if isinstance(error, asyncpg.TooManyConnectionsError):
        hint = "; raise the role's connection limit, or max_connections of the server, or lower DATABASE_CONNECTIONS"
    return f"{type(error).__name__}: {error}{hint}"


@dataclass(slots=True)
class UnitOfWork:
    """A transaction that all database work of a block joins, with savepoints."""

    connections: "Connections"
    connection: Connection
    afterwards: list[Callable[[], None]] = field(default_factory=list)
    """Functions to call after the commit, in order."""
    correlation_id: str | None = None
    """Id of the chain of messages that the work belongs to, if any."""
    undone: bool = False
    """Set it to roll everything back."""
    is_open: bool = True


_WHOLE: ContextVar[UnitOfWork | None] = ContextVar("whole", default=None)
"""The unit of work of the current request, if any."""


class _UndoneError(Exception):
    """Rolls a unit of work back."""


@asynccontextmanager
async def _savepoint_in(whole: UnitOfWork) -> AsyncIterator[Connection]:
    async with whole.connection.transaction():
        yield whole.connection


_KEPT_PLANS: ContextVar[bool] = ContextVar("kept_plans", default=False)


@contextmanager
def kept_plans() -> Iterator[None]:
    """Reuse generic plans for the statements of the block and of its tasks, once per connection.

    Meant for lookups by keys in batches: planning costs PostgreSQL as much as executing. Not for lists with optional
    conditions, as their best plan depends on the parameters. See decision 63.
    """
    token = _KEPT_PLANS.set(True)
    try:
        yield
    finally:
        _KEPT_PLANS.reset(token)


_PLANNED: Final = {
    # A kept plan may stem from an empty table, so it must prefer indexes.
    True: "set plan_cache_mode = force_generic_plan; set enable_seqscan = off",
    False: "reset plan_cache_mode; reset enable_seqscan",
}


class PooledConnection(_Connection):
    """Remembers its planning mode, to set it only on changes."""

    _keeps_plans: bool | None = False

    async def plan(self, *, kept: bool) -> None:
        if kept is not self._keeps_plans:
            self._keeps_plans = None  # unknown if the statement is interrupted
            await self.execute(_PLANNED[kept])
            self._keeps_plans = kept


async def _keep_as_is(_: object) -> None:
    """Return connections to the pool without a reset: they remember their settings, and a reset costs a round trip."""


class Connections:
    """A small pool of connections that waits for the database and reports outages."""

    def __init__(self, url: str, *, name: str, size: int = 10) -> None:
        self._url = url
        self._name = name
        self._size = size
        self._pool: Pool | None = None

    async def open(self) -> None:
        """Open the pool; wait without limit until the database answers."""
        delay = 0.2
        while self._pool is None:
            try:
                self._pool = await asyncpg.create_pool(
                    self._url,
                    min_size=1,
                    max_size=self._size,
                    max_inactive_connection_lifetime=300,
                    timeout=10,
                    command_timeout=STATEMENT_SECONDS,
                    reset=_keep_as_is,
                    connection_class=PooledConnection,
                    server_settings={"application_name": self._name, "timezone": "UTC", "jit": "off"},
                )
            except Exception as error:
                if not is_outage(error):
                    raise
                log.warning("database_unavailable", error=_told(error), retry_seconds=delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, 5.0)

    async def close(self) -> None:
        if self._pool is not None:
            try:
                async with asyncio.timeout(5):
                    await self._pool.close()
            except TimeoutError:
                self._pool.terminate()
            self._pool = None

    @property
    def unopened(self) -> int:
        """Number of connections that the pool may still open."""
        return self._size - (0 if self._pool is None else self._pool.get_size())

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """Borrow a connection for a few statements; within a unit of work its own one, in a savepoint.

        Raises:
            DatabaseUnavailableError: the database is away, at any point of the block.
        """
        whole = self.joined()
        return self._own_connection() if whole is None else _savepoint_in(whole)

    @asynccontextmanager
    async def _own_connection(self) -> AsyncIterator[Connection]:
        acquired = await self._acquire()
        try:
            await cast("PooledConnection", acquired).plan(kept=_KEPT_PLANS.get())
            yield acquired
        except (OSError, TimeoutError) as error:
            # The error may come from another connection of the caller; only the database can tell.
            if acquired.is_closed() or not await self.answers():
                raise DatabaseUnavailableError(_told(error)) from error
            raise
        except Exception as error:
            if is_outage(error):
                raise DatabaseUnavailableError(_told(error)) from error
            raise
        finally:
            await self._release(acquired)

    @asynccontextmanager
    async def whole(self) -> AsyncIterator[UnitOfWork]:
        """Run the block in one transaction, which every `connection` in it joins.

        Raises:
            DatabaseUnavailableError: the database is away; if it went away during the commit, the outcome is unknown.
        """
        async with self._own_connection() as connection:
            whole = UnitOfWork(self, connection)
            token = _WHOLE.set(whole)
            try:
                with suppress(_UndoneError):
                    async with connection.transaction():
                        yield whole
                        if whole.undone:
                            raise _UndoneError
            finally:
                whole.is_open = False
                _WHOLE.reset(token)
        if not whole.undone:
            for call in whole.afterwards:
                call()

    def joined(self) -> UnitOfWork | None:
        """Return the unit of work that is open around the caller, else None."""
        whole = _WHOLE.get()
        return whole if whole is not None and whole.is_open and whole.connections is self else None

    async def _acquire(self) -> Connection:
        if self._pool is None:
            raise DatabaseUnavailableError("not connected yet")
        try:
            return await self._pool.acquire(timeout=10)
        except Exception as error:
            if is_outage(error):
                raise DatabaseUnavailableError(_told(error)) from error
            raise

    async def _release(self, connection: Connection) -> None:
        if self._pool is None:
            return
        try:
            await self._pool.release(connection, timeout=5)  # type: ignore[arg-type]
        except (
            OSError,
            TimeoutError,
            asyncpg.PostgresError,
            asyncpg.InterfaceError,
            asyncpg.InternalClientError,
        ) as error:
            # Its work is committed or rolled back already; the pool makes another connection.
            log.debug("connection_not_released", error=repr(error))

    async def answers(self, within: float = 3.0) -> bool:
        """Return whether the database answers within so many seconds and accepts writes."""
        if self._pool is None:
            return False
        try:
            async with asyncio.timeout(within), self._pool.acquire() as connection:
                try:
                    # "on" after a fail-over, while this connection still leads to the old primary.
                    return bool(
                        await connection.fetchval("select current_setting('transaction_read_only') = 'off'")
                    )
                except BaseException:
                    # Releasing a silent connection to the pool would wait ten times as long.
                    with suppress(asyncpg.InterfaceError):  # closed meanwhile
                        connection.terminate()
                    raise
        except Exception as error:
            if is_outage(error):
                return False
            raise

    async def wait_until_available(self) -> None:
        """Probe with growing pauses until the database accepts writes again."""
        delay = 0.1
        while not await self.answers():
            await asyncio.sleep(delay)
            delay = min(delay * 2, 2.0)
