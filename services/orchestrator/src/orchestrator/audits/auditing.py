"""Makes an audit: reads the facts, and stores the findings in the same transaction."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from envelope import new_event_id
from envelope.brand.payloads import AuditCompleted
from messaging import Transaction
from orchestrator.audits import store
from orchestrator.audits.domain import STALE_AFTER_DAYS, derive_report
from orchestrator.audits.refreshing import refresh_stale
from orchestrator.audits.store import Audit
from orchestrator.brands import BrandSlug, UnknownBrandError, find_brand
from orchestrator.cycles import BrandLimits

log = structlog.get_logger(__name__)

BY_THE_CLOCK: Final = "schedule"
AGAIN_AFTER: Final = timedelta(minutes=1)
"""Within this time, a repeated request returns the audit that exists."""


async def audit_in(tx: Transaction, slug: BrandSlug, limits: BrandLimits, *, by: str) -> tuple[Audit, bool]:
    """Audits a brand and announces the result; returns the audit, and False if it is one of the last minute.

    Has stale articles rewritten, as far as the brand allows.

    Raises:
        UnknownBrandError: the brand does not exist.
    """
    connection = tx.connection
    brand = await find_brand(connection, slug)
    if brand is None:
        raise UnknownBrandError(slug)
    await store.lock_auditing(connection, slug)
    if (recent := await store.find_recent(connection, slug, AGAIN_AFTER)) is not None:
        return recent, False
    stale_after = timedelta(days=brand.stale_after_days or STALE_AFTER_DAYS)
    known = await store.load_facts(connection, slug, stale_after)
    known = replace(known, renewing=await refresh_stale(tx, brand, stale_after, limits))
    # Comparing hundreds of articles takes a while: a thread keeps the event loop free.
    found = await asyncio.to_thread(derive_report, slug, known)
    audit = await store.insert_audit(connection, new_event_id(), slug, found, by=by)
    counts = {kind.value: count for kind, count in found.counts.items()}
    tx.send(AuditCompleted(brand_slug=slug, audit_id=audit.audit_id, findings=counts))
    log.info("brand_audited", brand=slug, audit_id=str(audit.audit_id), by=by, findings=len(audit.findings))
    return audit, True
