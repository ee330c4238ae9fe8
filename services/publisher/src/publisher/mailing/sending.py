"""Sends due letters, one after another. Deliveries in the database are the outbox, so any replica may send them.

A delivery is claimed, in a transaction of its own, before it is sent, and never claimed again. After a lost process or a lost answer
it is in doubt, and a person decides. So no subscriber gets a letter twice, and every loss is visible.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

import structlog

from messaging import Database
from publisher import store as site_store
from publisher.domain import BrandSlug
from publisher.mailing import store
from publisher.mailing.addresses import LinkPurpose, link_word, without_addresses
from publisher.mailing.letters import LEAVE, Letter, letter_of
from publisher.mailing.store import ClaimedDelivery
from publisher.mailing_texts import texts_for
from publisher.rendering import Renderer
from publisher.site_settings import address_of
from publisher.urls import SiteUrls
from receipts import EffectsGateway, NotSent, Refused, UnknownOutcome

log = structlog.get_logger(__name__)

_MOST: Final = 500
"""Letters in a round."""
_HOLD: Final = timedelta(minutes=5)
"""Longer than the gateway takes to answer."""
_PAUSE: Final = timedelta(minutes=1)
_LONG_PAUSE: Final = timedelta(minutes=5)
_FIRST_PAUSE: Final = timedelta(minutes=5)
_MOST_ATTEMPTS: Final = 6
_NO_RECIPIENT: Final = "mail.no_recipient"
_FOR_THIS_LETTER: Final = frozenset({_NO_RECIPIENT, "mail.refused"})
"""Refusals of the mail server; all others are about the account, and everything waits until somebody mends it."""
_LATER: Final = "mail.later"


@dataclass(frozen=True, slots=True)
class _Mail:
    to: str
    letter: Letter
    message_id: str
    leave_url: str | None

    def document(self, brand: str) -> dict[str, Any]:
        link = self.leave_url or ""
        html = self.letter.html
        return {
            "brand": brand,
            "to": [self.to],
            "subject": self.letter.subject,
            "text": self.letter.text.replace(LEAVE, link),
            "html": None if html is None else html.replace(LEAVE, link),
            "message_id": self.message_id,
            **({} if self.leave_url is None else {"unsubscribe_url": self.leave_url}),
        }


class LetterSender:
    """Sends what is due through the gateway; one per process."""

    def __init__(self, database: Database, door: EffectsGateway, urls: SiteUrls) -> None:
        self._database = database
        self._door = door
        self._urls = urls
        self._renderer = Renderer(urls)

    async def send_due(self) -> int:
        """Returns how many letters went out."""
        async with self._database.connection() as connection:
            # Most installations have no newsletter: nothing is written for it there.
            if not await store.is_used(connection):
                return 0
        async with self._database.transaction() as tx:
            await store.tidy(tx.connection)
            await store.address_letters(tx.connection)
        known: dict[UUID, Letter | None] = {}
        sent = 0
        for _ in range(_MOST):
            async with self._database.transaction() as tx:
                claimed = await store.claim(tx.connection, _HOLD)
            if claimed is None:
                break
            sent += await self._deliver(claimed, known)
        return sent

    async def _deliver(self, claimed: ClaimedDelivery, known: dict[UUID, Letter | None]) -> bool:
        mail = await self._mail(claimed, known)
        if mail is None:
            async with self._database.transaction() as tx:
                await store.settle(
                    tx.connection, claimed, "failed", "the article is not on the site any more"
                )
            return False
        problem, refused = "", dict[str, str]()
        try:
            refused = await self._door.send_mail(claimed.account, mail.document(claimed.brand))
        except NotSent as error:
            await self._wait(claimed, error)
            return False
        except Refused as error:
            await self._refuse(claimed, error)
            return False
        except UnknownOutcome as error:
            problem = without_addresses(error.detail)
        async with self._database.transaction() as tx:
            if problem:
                await store.settle(tx.connection, claimed, "in_doubt", problem)
                # Whatever it was: it does not put a whole list in doubt.
                await store.pause(tx.connection, claimed.brand, _LONG_PAUSE, problem)
            elif refused:
                await store.settle(
                    tx.connection, claimed, "failed", without_addresses("; ".join(refused.values()))
                )
                await store.note_bounce(tx.connection, claimed)
            else:
                await store.settle(tx.connection, claimed, "sent")
                await store.note_success(tx.connection, claimed)
        return not problem and not refused

    async def _wait(self, claimed: ClaimedDelivery, error: NotSent) -> None:
        detail = without_addresses(error.detail)
        async with self._database.transaction() as tx:
            if error.reason != _LATER:
                # Nothing at all goes out: the letter's attempt does not count.
                until = (
                    max(error.retry_at - datetime.now(UTC), timedelta(seconds=1))
                    if error.retry_at
                    else _PAUSE
                )
                await store.put_back(tx.connection, claimed, timedelta(), counts=False, reason=detail)
                await store.pause(tx.connection, claimed.brand, until, detail)
            elif claimed.attempts >= _MOST_ATTEMPTS:
                await store.settle(tx.connection, claimed, "failed", detail)
            else:
                wait = _FIRST_PAUSE * 4 ** (claimed.attempts - 1)
                await store.put_back(tx.connection, claimed, wait, counts=True, reason=detail)

    async def _refuse(self, claimed: ClaimedDelivery, error: Refused) -> None:
        detail = without_addresses(error.detail)
        async with self._database.transaction() as tx:
            if error.reason not in _FOR_THIS_LETTER:
                await store.put_back(tx.connection, claimed, timedelta(), counts=False, reason=detail)
                await store.pause(tx.connection, claimed.brand, _LONG_PAUSE, detail)
            else:
                await store.settle(tx.connection, claimed, "failed", detail)
                if error.reason == _NO_RECIPIENT:
                    await store.note_bounce(tx.connection, claimed)
        log.warning(
            "letter_refused", brand=claimed.brand, letter_id=str(claimed.letter_id), reason=error.reason
        )

    async def _mail(self, claimed: ClaimedDelivery, known: dict[UUID, Letter | None]) -> _Mail | None:
        brand = BrandSlug(claimed.brand)
        async with self._database.connection() as connection:
            key = await store.key_of_installation(connection)
            urls = self._urls.at(brand, await address_of(connection, brand))
            start = urls.absolute(urls.newsletter(brand))
            message_id = _message_id(claimed, urls)
            if claimed.kind == "confirmation":
                site = await site_store.site(connection, brand)
                if site is None:
                    return None
                texts, name = texts_for(site.language), site.name
                link = f"{start}confirm/{link_word(key, LinkPurpose.CONFIRM, claimed.subscriber_id, claimed.letter_id)}"
                letter = Letter(
                    texts["confirmation_subject"].format(name=name),
                    texts["confirmation_text"].format(name=name, link=link),
                    None,
                )
                return _Mail(claimed.address, letter, message_id, None)
            if claimed.letter_id not in known:
                known[claimed.letter_id] = await letter_of(
                    connection, self._renderer, urls, brand, claimed.letter_id
                )
        found = known[claimed.letter_id]
        leave = f"{start}leave/{link_word(key, LinkPurpose.LEAVE, claimed.subscriber_id)}"
        return None if found is None else _Mail(claimed.address, found, message_id, leave)


def _message_id(claimed: ClaimedDelivery, urls: SiteUrls) -> str:
    """The same for every attempt, and without the address."""
    host = urls.origin.partition("://")[2].partition(":")[0]
    return f"<{uuid5(NAMESPACE_URL, f'{claimed.letter_id}/{claimed.subscriber_id}')}@{host[:100]}>"
