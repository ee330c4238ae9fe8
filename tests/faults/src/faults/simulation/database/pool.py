"""The pool of connections under the real `chassis.database.pool.Connections`."""

import asyncio
from typing import Any, Final

from chassis.database.pool import Connections
from faults.simulation.course import ConnectedProcess
from faults.simulation.database.store import SimulatedConnection, SimulatedDatabase

ACQUIRE_SECONDS: Final = 10.0
"""After which a connection attempt that gets no answer is given up."""


class SimulatedPool:
    """Plays `asyncpg.Pool`."""

    def __init__(self, store: SimulatedDatabase, process: ConnectedProcess, size: int) -> None:
        self._store = store
        self._process = process
        self._free = size
        self._idle: list[SimulatedConnection] = []
        self._waiting: list[asyncio.Future[None]] = []

    def acquire(self, *, timeout: float | None = None) -> "_PoolAcquisition":
        return _PoolAcquisition(self, timeout)

    async def take(self, timeout: float | None) -> SimulatedConnection:  # noqa: ASYNC109  (asyncpg's parameter)
        while self._free and self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                self._free -= 1
                return connection
        async with asyncio.timeout(timeout):
            return await self._take()

    async def _take(self) -> SimulatedConnection:
        schedule = self._store.schedule
        while self._free == 0:
            waiter = schedule.loop.create_future()
            self._waiting.append(waiter)
            await waiter
        self._free -= 1
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                return connection
        try:
            await self._connect()
        except BaseException:
            self._give_place()
            raise
        return SimulatedConnection(self._store, self._process)

    async def _connect(self) -> None:
        schedule = self._store.schedule
        await schedule.loop.pause(schedule.latency())
        if self._store.down:
            raise ConnectionRefusedError("the database is down")
        if self._process.partitioned:
            await schedule.loop.pause(ACQUIRE_SECONDS)
            raise TimeoutError("the database cannot be reached")

    async def release(self, connection: SimulatedConnection, *, timeout: float | None = None) -> None:  # noqa: ASYNC109
        if not self._process.alive:
            return
        if connection.tx is not None:
            # Only a cancelled statement leaves one open; asyncpg rolls it back when the connection comes home.
            self._store.end(connection.tx)
            connection.tx = None
        if not connection.closed:
            self._idle.append(connection)
        self._give_place()

    def _give_place(self) -> None:
        self._free += 1
        while self._waiting:
            waiter = self._waiting.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                return


class _PoolAcquisition:
    """`await pool.acquire()`, or `async with pool.acquire() as connection`."""

    __slots__ = ("_connection", "_pool", "_timeout")

    def __init__(self, pool: SimulatedPool, timeout: float | None) -> None:
        self._pool = pool
        self._timeout = timeout
        self._connection: SimulatedConnection | None = None

    def __await__(self) -> Any:
        return self._pool.take(self._timeout).__await__()

    async def __aenter__(self) -> SimulatedConnection:
        self._connection = await self._pool.take(self._timeout)
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        assert self._connection is not None
        await self._pool.release(self._connection)


class SimulatedConnections(Connections):
    """The real thing, over a pool of ours."""

    def __init__(self, store: SimulatedDatabase, process: ConnectedProcess, size: int) -> None:
        super().__init__("", name=process.name, size=size)
        self._simulated: Any = SimulatedPool(store, process, size)

    async def open(self) -> None:
        self._pool = self._simulated
