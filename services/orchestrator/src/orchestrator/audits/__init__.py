"""Audits brands weekly or on request: finds stale articles, broken links and other problems, and stores the report."""

from orchestrator.audits.auditing import BY_THE_CLOCK, audit_in
from orchestrator.audits.domain import STALE_AFTER_DAYS
from orchestrator.audits.routes import audit_routes

__all__ = ["BY_THE_CLOCK", "STALE_AFTER_DAYS", "audit_in", "audit_routes"]
