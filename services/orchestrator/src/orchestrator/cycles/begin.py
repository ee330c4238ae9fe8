"""How a cycle begins: its keywords are stored and sent to research together, or not at all."""

from typing import Final

from chassis import Connection
from envelope.brand.payloads import ResearchRequested
from messaging import Database
from orchestrator.brands import UnknownBrandError, find_brand
from orchestrator.cycles import store
from orchestrator.cycles.domain import ReusedKeyError
from orchestrator.cycles.store import Cycle, NewCycle

KEYWORDS_IN_ONE_TRACE: Final = 20
"""With more, each begins a trace of its own: of tens of thousands of spans together nobody makes out anything."""


async def begin_cycle(database: Database, wanted: NewCycle) -> Cycle:
    """Stores a cycle and asks research for each keyword, in one transaction; or finds the one begun under the same key.

    Raises:
        UnknownBrandError: nobody has made the brand.
        ReusedKeyError: the idempotency key began a cycle of another request.
    """
    async with database.transaction() as tx:
        if await find_brand(tx.connection, wanted.brand_slug) is None:
            raise UnknownBrandError(wanted.brand_slug)
        if await store.begin_cycle(tx.connection, wanted):
            for keyword in wanted.keywords:
                tx.send(
                    ResearchRequested(
                        brand_slug=wanted.brand_slug, keyword=keyword, priority=wanted.priority
                    ),
                    correlation_id=wanted.correlation_id,
                    own_trace=len(wanted.keywords) > KEYWORDS_IN_ONE_TRACE,
                )
            cycle = await store.find_cycle(tx.connection, wanted.cycle_id)
        else:
            cycle = await _begun_before(tx.connection, wanted)
    assert cycle is not None
    return cycle


async def _begun_before(connection: Connection, wanted: NewCycle) -> Cycle | None:
    assert wanted.idempotency_key is not None
    cycle = await store.find_cycle_by_idempotency_key(connection, wanted.brand_slug, wanted.idempotency_key)
    if cycle is not None and cycle.request_digest != wanted.request_digest:
        raise ReusedKeyError(cycle.cycle_id)
    return cycle
