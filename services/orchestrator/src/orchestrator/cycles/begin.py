"""Begins a cycle: stores all its keywords and sends those within its brand's limits to research, or does nothing."""

from contextlib import nullcontext
from typing import Final

import structlog

from chassis import Connection
from chassis.database.pool import kept_plans
from chassis.http.idempotency import KEPT
from messaging import Database, Transaction
from orchestrator.brands import UnknownBrandError, find_brand
from orchestrator.cycles import store
from orchestrator.cycles.dispatch import DEFAULT_LIMITS, BrandLimits, dispatch_waiting
from orchestrator.cycles.domain import ReusedKeyError
from orchestrator.cycles.store import Cycle, NewCycle

log = structlog.get_logger(__name__)

KEYWORDS_IN_ONE_TRACE: Final = 20
"""In larger cycles each keyword has a trace of its own, as tens of thousands of spans in one trace are unreadable."""

_PLANNED_ONCE: Final = 100
"""Keywords of a request whose statements keep their plans; more of them may deserve a plan of their own."""


async def begin_cycle(database: Database, wanted: NewCycle, limits: BrandLimits = DEFAULT_LIMITS) -> Cycle:
    """Begins a cycle in a transaction of its own; a small cycle continues the current trace."""
    together = len(wanted.keywords) <= KEYWORDS_IN_ONE_TRACE
    with kept_plans() if len(wanted.keywords) <= _PLANNED_ONCE else nullcontext():
        async with database.transaction() as tx:
            return await begin_cycle_in(tx, wanted, limits, together=together)


async def begin_cycle_in(tx: Transaction, wanted: NewCycle, limits: BrandLimits, *, together: bool) -> Cycle:
    """Stores a cycle and sends the keywords within its brand's limits to research.

    A repeated idempotency key returns the existing cycle. With `together`, its keywords continue the current
    trace; otherwise each begins a trace linked to it. Without a current trace, the cycle begins one.

    Raises:
        UnknownBrandError: there is no such brand.
        ReusedKeyError: the idempotency key belongs to another request.
    """
    if await find_brand(tx.connection, wanted.brand_slug) is None:
        raise UnknownBrandError(wanted.brand_slug)
    # Also stored here for an older version, which reads no other place.
    await store.release_key(tx.connection, wanted, KEPT)
    if await store.begin_cycle(tx.connection, wanted):
        chain = wanted.correlation_id
        trace = tx.trace_under_way(chain) or tx.begin_trace("begin cycle", chain)
        await store.keep_trace(tx.connection, wanted.cycle_id, trace, of_keywords=together)
        # Once all is stored, so that decisions about the brand do not wait for that.
        now = await store.lock_brand(tx.connection, wanted.brand_slug)
        await dispatch_waiting(tx, [wanted.brand_slug], limits, now=now)
        cycle = await store.find_cycle(tx.connection, wanted.cycle_id)
        log.info(
            "cycle_accepted",
            brand=wanted.brand_slug,
            cycle_id=str(wanted.cycle_id),
            correlation_id=chain,
            by=wanted.submitted_by,
            keywords=len(wanted.keywords),
            priority=wanted.priority,
        )
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
