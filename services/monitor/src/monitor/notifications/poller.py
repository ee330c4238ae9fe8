"""Polls the notification sources, each on one replica at a time. New conditions open notifications, ended ones resolve them.

Polling needs no messages from other services: nothing is lost or doubled on the way, and after an outage the next poll catches up.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from chassis.database.pool import DatabaseUnavailableError
from chassis.http.client import PassingError, UnusableAnswerError
from messaging import Database
from messaging.erasure import is_of_erased_brand
from monitor.erased import ERASURES
from monitor.notifications import store
from monitor.notifications.domain import Condition, NotificationKind, Severity
from monitor.notifications.sources import NotificationSource

log = structlog.get_logger(__name__)

AWAY_FOR: Final = timedelta(minutes=10)
"""Shorter outages, such as restarts, cause no notification."""


class NotificationPoller:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def poll(self, source: NotificationSource) -> bool:
        """Polls the source if it is due and a route exists; returns whether it did."""
        async with self._database.connection() as connection:
            began = await store.claim_source(connection, source.name, source.every)
        if began is None:
            return False
        try:
            seen = await source.fetch_conditions()
        except DatabaseUnavailableError:
            raise
        except (PassingError, UnusableAnswerError) as error:
            await self._store_failure(source, str(error))
        except Exception:
            log.exception("notifications_source_failed", source=source.name)
            await self._store_failure(
                source,
                "The monitor failed over what it was told; its log says how, at notifications_source_failed",
            )
        else:
            await self._store_conditions(source, seen, began)
        return True

    async def _store_conditions(
        self, source: NotificationSource, seen: Sequence[Condition], began: datetime
    ) -> None:
        async with self._database.transaction() as tx:
            brands = {each.brand for each in seen if each.brand is not None}
            gone = await ERASURES.erasure_times(tx.connection, brands) if brands else {}
            still = [
                each for each in seen if each.brand is None or not is_of_erased_brand(each.brand, began, gone)
            ]
            await store.reconcile(tx.connection, source.name, still)
            await store.record_poll(tx.connection, source.name, None)
            await store.reconcile(tx.connection, _outage_source(source), [])

    async def _store_failure(self, source: NotificationSource, problem: str) -> None:
        log.info("notifications_source_away", source=source.name, problem=problem)
        async with self._database.transaction() as tx:
            away = await store.record_poll(tx.connection, source.name, problem[:500])
            if away >= AWAY_FOR:
                whom = source.service or "the monitor's database"
                condition = Condition(
                    NotificationKind.SERVICES,
                    key=whom,
                    severity=Severity.WARNING,
                    title=f"{whom[0].upper()}{whom[1:]} does not answer",
                    detail="notifications that depend on it come once it answers",
                )
                await store.reconcile(tx.connection, _outage_source(source), [condition])


def _outage_source(source: NotificationSource) -> str:
    """Name of the source of notifications about an outage of this source."""
    return f"{source.name} away"
