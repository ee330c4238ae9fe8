"""Short links as articles are announced, and posts that are named to them."""

import ipaddress
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

import structlog

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import LinkRegister
from messaging import Transaction
from messaging.erasure import is_of_erased_brand
from publisher.domain import BrandSlug
from publisher.erasure import ERASURES
from publisher.links import store
from publisher.links.store import Leading
from publisher.site_settings import address_of
from publisher.urls import SiteUrls

log = structlog.get_logger(__name__)

_NEARBY: Final = (".localhost", ".local", ".internal", ".test", ".invalid", ".home.arpa")


class ShortLinks:
    """`urls` are those of all sites."""

    def __init__(self, urls: SiteUrls) -> None:
        self._urls = urls

    async def of(
        self,
        connection: Connection,
        brand: BrandSlug,
        content_id: UUID,
        target: str,
        *,
        title: str | None = None,
    ) -> str | None:
        """The short link to an article that is at home at this target, the same each time; None where nobody outside would find it."""
        leading = Leading(content_id, brand, target, await address_of(connection, brand), title)
        return (await self.of_several(connection, [leading])).get(content_id)

    async def of_several(self, connection: Connection, articles: Sequence[Leading]) -> dict[UUID, str]:
        """The same of several articles; those without one are left out."""
        homes = {each.content_id: self._urls.at(each.brand, each.address) for each in articles}
        found = [each for each in articles if is_public(homes[each.content_id].origin)]
        codes = await store.ensure(connection, found) if found else {}
        return {
            content_id: homes[content_id].absolute(homes[content_id].short(code))
            for content_id, code in codes.items()
        }


async def register(commands: Sequence[DomainMessage[LinkRegister]], tx: Transaction) -> None:
    """Says of marks which posts they are. The same again changes nothing; of articles without short links, nothing is known."""
    known = await ERASURES.erasure_times(tx.connection, {command.payload.brand_slug for command in commands})
    for command in sorted(commands, key=lambda each: (each.payload.content_id, each.payload.mark)):
        wanted = command.payload
        if is_of_erased_brand(wanted.brand_slug, command.timestamp, known):
            continue
        if not await store.name_mark(
            tx.connection,
            wanted.content_id,
            wanted.brand_slug,
            wanted.mark,
            wanted.post_id,
            channel=wanted.channel,
            account=wanted.account,
        ):
            log.info("mark_not_named", post_id=str(wanted.post_id), content_id=str(wanted.content_id))


def is_public(origin: str) -> bool:
    """Whether an origin can be one that everybody reaches, as far as its name says."""
    host = (urlsplit(origin).hostname or "").rstrip(".")
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_NEARBY)
