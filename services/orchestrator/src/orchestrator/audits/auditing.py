"""How an audit is made: what is known is read, what is found is stored, in one transaction."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from envelope import new_event_id
from envelope.brand.payloads import AuditCompleted
from messaging import Transaction
from orchestrator.audits import store
from orchestrator.audits.domain import STALE_AFTER_DAYS, report
from orchestrator.audits.refreshing import refresh_stale
from orchestrator.audits.store import Audit
from orchestrator.brands import BrandSlug, UnknownBrandError, find_brand
from orchestrator.cycles import BrandLimits

log = structlog.get_logger(__name__)

BY_THE_CLOCK: Final = "schedule"
AGAIN_AFTER: Final = timedelta(minutes=1)
"""Asked for once more before that, an audit is the one that was made."""


async def audit_in(tx: Transaction, slug: BrandSlug, limits: BrandLimits, *, by: str) -> tuple[Audit, bool]:
    """The audit of a brand, told to everybody if it is new, and whether it is new: one of the last minute stands for what is asked for now.

    Stale articles are written anew, as far as the brand allows.

    Raises:
        UnknownBrandError: nobody has made the brand.
    """
    connection = tx.connection
    brand = await find_brand(connection, slug)
    if brand is None:
        raise UnknownBrandError(slug)
    await store.lock_auditing(connection, slug)
    if (recent := await store.find_recent(connection, slug, AGAIN_AFTER)) is not None:
        return recent, False
    stale_after = timedelta(days=brand.stale_after_days or STALE_AFTER_DAYS)
    known = await store.known_of(connection, slug, stale_after)
    known = replace(known, renewing=await refresh_stale(tx, brand, stale_after, limits))
    # Comparing hundreds of articles takes a while, in which others are served.
    found = await asyncio.to_thread(report, slug, known)
    audit = await store.insert_audit(connection, new_event_id(), slug, found, by=by)
    counts = {kind.value: count for kind, count in found.counts.items()}
    tx.send(AuditCompleted(brand_slug=slug, audit_id=audit.audit_id, findings=counts))
    log.info("brand_audited", brand=slug, audit_id=str(audit.audit_id), by=by, findings=len(audit.findings))
    return audit, True
