"""The built-in site as a target: the one whose pages are rows of this database.

So it needs neither an account nor receipts: an article is there, with the event that says so, once a transaction ends, or not at all. It keeps
what every target keeps (`tests/targets/test_target_conformance.py`), and is brought up to date by the same command.
"""

import asyncio
from typing import Final

from envelope import DomainMessage
from envelope.brand.payloads import ContentPublish, ContentPublished
from messaging import Context, Database, Record, Transaction, Unprocessable
from publisher import store
from publisher.clients.orchestrator import OrchestratorClient, Unchanged
from publisher.covers import picture_of
from publisher.domain import Article, BrandSlug, Refusal, refusal
from publisher.erasure import is_late
from publisher.links import ShortLinks
from publisher.markup import Home, to_html
from publisher.site_settings import address_of
from publisher.store import Publication
from publisher.targets.bringing import failed
from publisher.urls import SiteUrls

Command = DomainMessage[ContentPublish]

_DELETED: Final = Refusal("deleted", "The article was deleted; it has no page any more.")


class BuiltInSite:
    def __init__(self, database: Database, orchestrator: OrchestratorClient, urls: SiteUrls) -> None:
        self._database = database
        self._orchestrator = orchestrator
        self._urls = urls
        self._links = ShortLinks(urls)

    async def bring(self, command: Command, context: Context) -> Record:
        content_id = command.payload.content_id
        async with self._database.connection() as connection:
            # Of another brand's page nothing is known: its article is read again, and shows whose it is.
            known_etag = await store.known_etag(
                connection,
                content_id,
                BrandSlug(command.payload.brand_slug),
                command.payload.canonical_url,
            )
            own_address = await address_of(connection, BrandSlug(command.payload.brand_slug))
        answer = await self._orchestrator.article(content_id, known_etag=known_etag)
        if answer is None:
            return failed(command, _DELETED, context)
        if isinstance(answer, Unchanged):

            async def announce_again(tx: Transaction) -> None:
                await self._announce(tx, command, context)

            return announce_again
        article = answer.article
        if article.brand.slug != command.payload.brand_slug:
            raise Unprocessable(
                f"content {content_id} belongs to brand {article.brand.slug!r}, the command says"
                f" {command.payload.brand_slug!r}; nothing was published"
            )
        if article.taken_down_at is not None:
            return _taken_down(command, article, context)
        if problem := refusal(article):
            return failed(command, problem, context)
        own = f"{own_address}/" if own_address else None
        home = Home(self._urls.origin, self._urls.site(BrandSlug(article.brand.slug)), own)
        # In a thread, so that a long or hostile text holds up this message only.
        markup = await asyncio.to_thread(
            to_html, article.body_markdown, frozenset(source.n for source in article.sources), home
        )
        publication = Publication(article, markup, answer.etag)

        async def record(tx: Transaction) -> None:
            # Reading it took a while, in which its brand may have been erased.
            if await is_late(tx.connection, command):
                return
            if await store.is_deleted(tx.connection, article):
                await failed(command, _DELETED, context)(tx)
                return
            await store.publish(tx.connection, publication)
            await store.note_home(tx.connection, article, command.payload.canonical_url)
            await self._announce(tx, command, context)

        return record

    async def _announce(self, tx: Transaction, command: Command, context: Context) -> None:
        payload = command.payload
        brand = BrandSlug(payload.brand_slug)
        place = await store.place_of(tx.connection, payload.content_id, brand)
        if place is None:
            raise RuntimeError("the page disappeared while its article was read")
        urls = self._urls.at(brand, place.address)
        url = urls.absolute(urls.article(brand, place.slug))
        published = ContentPublished(
            brand_slug=brand,
            content_id=payload.content_id,
            published_url=url,
            as_of=place.as_of,
            target=payload.target,
            # At the address of all sites, which other services know, too.
            picture=await picture_of(tx.connection, self._urls, brand, place.slug),
            short_link=await self._links.of(tx.connection, brand, payload.content_id, payload.target)
            if payload.canonical_url is None
            else None,
        )
        tx.send(published, caused_by=command)
        context.log.info("article_published", content_id=str(payload.content_id), url=url)


def _taken_down(command: Command, article: Article, context: Context) -> Record:
    """Nobody waits to hear of a page that goes; of one that never was, whoever waits for it hears why."""
    never_was = Refusal("taken_down", "The article was taken down before it was published.")

    async def record(tx: Transaction) -> None:
        if await store.take_down(tx.connection, article):
            context.log.info("page_taken_down", content_id=str(article.content_id))
        else:
            await failed(command, never_was, context)(tx)

    return record
