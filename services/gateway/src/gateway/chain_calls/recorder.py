"""Records the calls for chains that are not in the ledger: pages, and requests to accounts that cost nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from chassis import Connections, DatabaseUnavailableError
from chassis.http import chain_headers
from gateway.chain_calls import store
from gateway.chain_calls.store import CallKind, NewChainCall
from gateway.problems import CallProblemError

log = structlog.get_logger(__name__)


class ChainRecorder:
    """Records calls of the chain that the running work belongs to; of work without a chain, nothing."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @asynccontextmanager
    async def recorded(
        self, kind: CallKind, target: str, subject: str, *, brand: str | None
    ) -> AsyncIterator[None]:
        """Records the call that the block makes, with the code of the problem that it raises.

        A call is made even if it cannot be recorded: the record is for people to read.
        """
        chain = chain_headers.current()
        if chain is None:
            yield
            return
        try:
            async with self._connections.connection() as connection:
                call = await store.begin(
                    connection, NewChainCall(chain.id, brand, kind, target, subject[:_MAX_SUBJECT])
                )
        except DatabaseUnavailableError as error:
            log.warning("call_not_recorded", target=target, error=str(error))
            yield
            return
        problem: str | None = "cancelled"
        try:
            yield
            problem = None
        except CallProblemError as error:
            problem = error.problem.type
            raise
        except Exception as error:
            problem = f"page.{code}" if (code := getattr(error, "code", None)) else "gateway.failed"
            raise
        finally:
            try:
                async with self._connections.connection() as connection:
                    await store.end(connection, call, problem)
            except DatabaseUnavailableError as error:
                log.warning("call_not_recorded", target=target, error=str(error))


_MAX_SUBJECT = 200
