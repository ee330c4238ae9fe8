"""Tells engines of addresses that have changed, some at a time: what is due is in the database, and any replica may tell of it.

Telling twice of the same address leaves one: the engine looks at it, as it would have. So it has no receipt; what was under way when a process
ended is told of again.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from chassis import DatabaseUnavailableError
from messaging import Database
from publisher.indexnow import store
from publisher.indexnow.domain import is_public, pause_after
from publisher.indexnow.store import Batch
from publisher.site_settings import address_of
from publisher.urls import SiteUrls
from receipts import EffectsGateway, NotSent, Refused, UnknownOutcome
from receipts.answers import expect

KIND: Final = "indexnow"
LOOKS_EVERY_SECONDS: Final = 30.0
_MOST: Final = 1_000
"""Addresses at a time; the protocol takes 10,000."""
_BATCHES: Final = 20
"""At a look."""
_HOLD: Final = timedelta(minutes=5)
"""Longer than telling takes."""
_TOLD: Final = frozenset({200, 202})  # 202: the key is looked at later
_ERRORS: Final = {
    400: "it cannot read what was sent (400)",
    403: "it did not find the key at its address (403): is the site reached there from outside?",
    422: "it does not take the site's addresses or its key (422)",
}

log = structlog.get_logger(__name__)


class IndexNow:
    def __init__(self, database: Database, door: EffectsGateway, urls: SiteUrls) -> None:
        self._database = database
        self._door = door
        self._urls = urls

    async def keep_telling(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                await self.tell()
            except DatabaseUnavailableError as error:
                log.warning("indexnow_waits", error=str(error))
            await asyncio.sleep(LOOKS_EVERY_SECONDS)

    async def tell(self) -> int:
        """Of what is due now; of how many addresses engines were told."""
        told = 0
        for _ in range(_BATCHES):
            async with self._database.transaction() as tx:
                batch = await store.claim(tx.connection, most=_MOST, hold=_HOLD)
            if batch is None:
                break
            told += await self._tell_of(batch)
        return told

    async def _tell_of(self, batch: Batch) -> int:
        async with self._database.connection() as connection:
            key = await store.key_of(connection, batch.brand)
            urls = self._urls.at(batch.brand, await address_of(connection, batch.brand))
        problem, again_at = None, None
        if key is not None:
            try:
                await self._send(batch, key, urls)
            except NotSent as error:
                problem, again_at = error.detail, error.retry_at
            except (Refused, UnknownOutcome) as error:
                problem = error.detail
        async with self._database.transaction() as tx:
            if problem is None:
                # Also if the brand does not want it any more.
                await store.forget(tx.connection, batch)
                await store.note_told(tx.connection, batch.brand)
                return 0 if key is None else len(batch.slugs)
            await store.note_problem(tx.connection, batch.brand, problem[:1000])
            pause = pause_after(batch.attempts)
            if pause is None:
                await store.forget(tx.connection, batch)
            else:
                asked_for = again_at - datetime.now(UTC) if again_at else pause
                await store.postpone(tx.connection, batch, max(pause, asked_for))
        log.warning(
            "engines_not_told",
            brand=batch.brand,
            addresses=len(batch.slugs),
            problem=problem,
            given_up=pause is None,
        )
        return 0

    async def _send(self, batch: Batch, key: str, urls: SiteUrls) -> None:
        """Raises NotSent, Refused, UnknownOutcome."""
        if not is_public(urls.origin):
            raise Refused(
                "not_public", f"nobody outside can find {urls.origin}: give the site a public address"
            )
        accounts = [each for each in await self._door.accounts(batch.brand) if each.kind == KIND]
        if not accounts:
            raise Refused(
                "not_connected",
                "nothing goes out to engines: brandctl accounts connect indexnow --all-brands",
            )
        addresses = [urls.absolute(urls.article(batch.brand, slug)) for slug in batch.slugs]
        told = {
            "host": urls.origin.partition("://")[2],
            "key": key,
            "keyLocation": urls.absolute(urls.engine_key(batch.brand, key)),
            "urlList": addresses,
        }
        account = self._door.account(accounts[0].name, batch.brand)
        expect(await account.request("POST", "/indexnow", json=told), _TOLD, _ERRORS)
        log.info("engines_told", brand=batch.brand, addresses=len(addresses))
