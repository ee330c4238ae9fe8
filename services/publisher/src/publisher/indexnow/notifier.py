"""Sends changed addresses to search engines in batches. The database holds the due addresses, so any replica may send them.

Sending an address twice is harmless: the engine reads the page once more. So there are no receipts; after a crash,
the notifier sends the batch again.
"""

import re
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import structlog

from messaging import Database
from publisher.indexnow import store
from publisher.indexnow.store import AddressBatch
from publisher.site_settings import address_of
from publisher.urls import SiteUrls
from receipts import EffectsGateway, NotSent, Refused, UnknownOutcome
from receipts.answers import expect

log = structlog.get_logger(__name__)


MOST_ATTEMPTS: Final = 6
_FIRST_PAUSE: Final = timedelta(minutes=5)
_LONGEST_PAUSE: Final = timedelta(days=1)
_NAME: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]")
_NOT_PUBLIC: Final = frozenset(
    {"localhost", "local", "internal", "invalid", "test", "example", "lan", "home", "arpa", "onion"}
)
"""Last labels of names without meaning on the internet (RFC 6761, 6762, 7686, 8375)."""


def is_public(origin: str) -> bool:
    """Whether the host of `https://blog.example.org` could be a public name; does not look it up."""
    host = (urlsplit(origin).hostname or "").rstrip(".")
    try:
        ip_address(host)
    except ValueError:
        return bool(_NAME.fullmatch(host)) and host.rpartition(".")[2] not in _NOT_PUBLIC
    return False


def pause_after(attempts: int) -> timedelta | None:
    """The pause after so many failed attempts: 5 and 20 minutes, 80, 5 hours, 21. None: give up."""
    if attempts >= MOST_ATTEMPTS:
        return None
    pause: timedelta = _FIRST_PAUSE * 4 ** (attempts - 1)
    return min(pause, _LONGEST_PAUSE)


KIND: Final = "indexnow"
_MOST: Final = 1_000
"""Addresses per request; the protocol allows 10,000."""
_BATCHES: Final = 20
"""Requests per round."""
_HOLD: Final = timedelta(minutes=5)
"""Length of a claim; longer than a request takes."""
_TOLD: Final = frozenset({200, 202})  # 202: the engine verifies the key later
_ERRORS: Final = {
    400: "it cannot read what was sent (400)",
    403: "it did not find the key at its address (403): check that the site is reachable there from outside",
    422: "it does not take the site's addresses or its key (422)",
}


class IndexNowNotifier:
    def __init__(self, database: Database, door: EffectsGateway, urls: SiteUrls) -> None:
        self._database = database
        self._door = door
        self._urls = urls

    async def notify_engines(self) -> int:
        """Sends the due addresses; returns how many were sent."""
        told = 0
        for _ in range(_BATCHES):
            async with self._database.transaction() as tx:
                batch = await store.claim(tx.connection, most=_MOST, hold=_HOLD)
            if batch is None:
                break
            told += await self._notify_batch(batch)
        return told

    async def _notify_batch(self, batch: AddressBatch) -> int:
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
                # Also if the brand has turned IndexNow off meanwhile.
                await store.delete_batch(tx.connection, batch)
                await store.record_success(tx.connection, batch.brand)
                return 0 if key is None else len(batch.slugs)
            await store.record_failure(tx.connection, batch.brand, problem[:1000])
            pause = pause_after(batch.attempts)
            if pause is None:
                await store.delete_batch(tx.connection, batch)
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

    async def _send(self, batch: AddressBatch, key: str, urls: SiteUrls) -> None:
        """Raises NotSent, Refused, UnknownOutcome."""
        if not is_public(urls.origin):
            raise Refused(
                "not_public", f"no public name leads to {urls.origin}: give the site a public address"
            )
        accounts = [each for each in await self._door.accounts(batch.brand) if each.kind == KIND]
        if not accounts:
            raise Refused(
                "not_connected",
                "no account can send the addresses: brandctl accounts connect indexnow --all-brands",
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
