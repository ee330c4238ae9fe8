"""Creates short links of articles, and registers the posts that use them."""

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
from publisher.short_links import store
from publisher.short_links.store import LinkedArticle
from publisher.site_settings import address_of
from publisher.urls import SiteUrls

log = structlog.get_logger(__name__)

_NEARBY: Final = (".localhost", ".local", ".internal", ".test", ".invalid", ".home.arpa")


class ShortLinks:
    """Creates short links; `urls` are the addresses of the installation."""

    def __init__(self, urls: SiteUrls) -> None:
        self._urls = urls

    async def url_of(
        self,
        connection: Connection,
        brand: BrandSlug,
        content_id: UUID,
        target: str,
        *,
        title: str | None = None,
    ) -> str | None:
        """The short link of an article with its home at this target; always the same. None if its host is not public."""
        leading = LinkedArticle(content_id, brand, target, await address_of(connection, brand), title)
        return (await self.urls_of(connection, [leading])).get(content_id)

    async def urls_of(self, connection: Connection, articles: Sequence[LinkedArticle]) -> dict[UUID, str]:
        """As `url_of` for several articles; leaves out those without a short link."""
        homes = {each.content_id: self._urls.at(each.brand, each.address) for each in articles}
        found = [each for each in articles if is_public(homes[each.content_id].origin)]
        codes = await store.ensure_codes(connection, found) if found else {}
        return {
            content_id: homes[content_id].absolute(homes[content_id].short(code))
            for content_id, code in codes.items()
        }


async def register(commands: Sequence[DomainMessage[LinkRegister]], tx: Transaction) -> None:
    """Assigns marks to posts. Repeating it changes nothing; does nothing for articles without short links."""
    known = await ERASURES.erasure_times(tx.connection, {command.payload.brand_slug for command in commands})
    for command in sorted(commands, key=lambda each: (each.payload.content_id, each.payload.mark)):
        wanted = command.payload
        if is_of_erased_brand(wanted.brand_slug, command.timestamp, known):
            continue
        if not await store.assign_mark(
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
    """Whether the origin's host can be public, judged by its name alone."""
    host = (urlsplit(origin).hostname or "").rstrip(".")
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_NEARBY)
