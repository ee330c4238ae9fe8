"""Ends quiet hours. Every replica does; row locks share the work, and only the database's clock counts."""

import structlog

from messaging import Database
from orchestrator.brands import store

log = structlog.get_logger(__name__)


async def end_quiet_periods(database: Database) -> None:
    """Replaces the periods that are over with the next ones. The dispatcher then begins the keywords that waited."""
    async with database.transaction() as tx:
        ended = await store.end_quiet_periods(tx.connection)
    if ended:
        log.info("quiet_hours_ended", brands=ended)
