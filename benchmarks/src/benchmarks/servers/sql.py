"""A connection to PostgreSQL without async, for the main thread of the benchmarks."""

import asyncio
from typing import Any, Self

import asyncpg


class Sql:
    """One connection; statements run to their end before the call returns."""

    def __init__(self, url: str) -> None:
        self._runner = asyncio.Runner()
        self._connection: asyncpg.Connection[Any] = self._runner.run(self._connect(url))

    async def _connect(self, url: str) -> "asyncpg.Connection[Any]":
        # Parallel helpers would take processor time from the measured system.
        settings = {"max_parallel_workers_per_gather": "0", "application_name": "benchmarks"}
        return await asyncpg.connect(url, timeout=15, server_settings=settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()

    def execute(self, statement: str, *values: Any) -> None:
        self._runner.run(self._connection.execute(statement, *values))

    def value(self, query: str, *values: Any) -> Any:
        return self._runner.run(self._connection.fetchval(query, *values))

    def row(self, query: str, *values: Any) -> "asyncpg.Record":
        (record,) = self.rows(query, *values)
        return record

    def rows(self, query: str, *values: Any) -> "list[asyncpg.Record]":
        return list(self._runner.run(self._connection.fetch(query, *values)))
