"""Looking: each source every so often, by one replica; what is seen becomes notifications, and what is seen no more is resolved.

Nobody has to tell this service of anything, so nothing is told twice or lost on the way, and whoever is away for an hour is looked at
after that.
"""

import asyncio
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
from monitor.notifications.domain import Condition, Kind, Severity
from monitor.notifications.sources import Source

log = structlog.get_logger(__name__)

_PAUSE_SECONDS: Final = 5.0
AWAY_FOR: Final = timedelta(minutes=10)
"""Services are restarted, and their networks hiccup: nobody is told of less."""


class Noticing:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep_looking(self, source: Source) -> None:
        """Goes on until it is cancelled. Without a route nobody is told of anything, and nobody is asked."""
        while True:
            await self.look(source)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def look(self, source: Source) -> bool:
        """Looks there if it is time and there is a route; whether it did."""
        async with self._database.connection() as connection:
            began = await store.claim_source(connection, source.name, source.every)
        if began is None:
            return False
        try:
            seen = await source.look()
        except DatabaseUnavailableError:
            raise
        except (PassingError, UnusableAnswerError) as error:
            await self._cannot_see(source, str(error))
        except Exception as error:
            log.exception("notifications_source_failed", source=source.name)
            await self._cannot_see(source, repr(error))
        else:
            await self._note(source, seen, began)
        return True

    async def _note(self, source: Source, seen: Sequence[Condition], began: datetime) -> None:
        async with self._database.transaction() as tx:
            brands = {each.brand for each in seen if each.brand is not None}
            gone = await ERASURES.erasure_times(tx.connection, brands) if brands else {}
            still = [
                each for each in seen if each.brand is None or not is_of_erased_brand(each.brand, began, gone)
            ]
            await store.reconcile(tx.connection, source.name, still)
            await store.note_look(tx.connection, source.name, None)
            await store.reconcile(tx.connection, _away(source), [])

    async def _cannot_see(self, source: Source, problem: str) -> None:
        log.info("notifications_source_away", source=source.name, problem=problem)
        async with self._database.transaction() as tx:
            away = await store.note_look(tx.connection, source.name, problem[:500])
            if away >= AWAY_FOR:
                whom = source.service or "the monitor's database"
                condition = Condition(
                    Kind.SERVICES,
                    key=whom,
                    severity=Severity.WARNING,
                    title=f"{whom[0].upper()}{whom[1:]} does not answer",
                    detail="what there would be to tell of it is told when it does",
                )
                await store.reconcile(tx.connection, _away(source), [condition])


def _away(source: Source) -> str:
    """The source of that nothing can be seen there."""
    return f"{source.name} away"
