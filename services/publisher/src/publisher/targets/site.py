"""The built-in site as a target: the one whose pages are rows of this database.

So it needs neither an account nor receipts: an article is there, with the event that says so, once a transaction ends, or not at all. It keeps
what every target keeps (`tests/targets/test_target_conformance.py`), and is brought up to date by the same command.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from chassis.coalescing import RequestCoalescer
from envelope import DomainMessage
from envelope.brand.payloads import ContentPublish, ContentPublished
from messaging import Context, Database, Record, Together, Transaction, Unprocessable
from messaging.erasure import comes_too_late
from publisher import store
from publisher.clients.orchestrator import OrchestratorClient, Unchanged
from publisher.covers import picture_of
from publisher.domain import Article, BrandSlug, Refusal, refusal
from publisher.erasure import ERASURES
from publisher.links import Leading, ShortLinks
from publisher.markup import Home, to_html
from publisher.store import Asked, Known, Place, Publication
from publisher.targets.bringing import failed
from publisher.urls import SiteUrls

Command = DomainMessage[ContentPublish]

AT_ONCE: Final = 16
"""Commands that are worked on side by side, and stored together if they are ready together."""
_DELETED: Final = Refusal("deleted", "The article was deleted; it has no page any more.")


@dataclass(frozen=True, slots=True)
class Brought:
    """A command of which all is known that was to be found out."""

    command: Command
    context: Context
    publication: Publication | None
    """None: the article has not changed since it was published."""

    @property
    def content_id(self) -> UUID:
        return self.command.payload.content_id


class BuiltInSite:
    def __init__(self, database: Database, orchestrator: OrchestratorClient, urls: SiteUrls) -> None:
        self._database = database
        self._orchestrator = orchestrator
        self._urls = urls
        self._links = ShortLinks(urls)
        self._known: RequestCoalescer[Asked, Known] = RequestCoalescer(self._look, limit=AT_ONCE)

    async def bring(self, command: Command, context: Context) -> Record | Together[Brought]:
        payload = command.payload
        brand = BrandSlug(payload.brand_slug)
        known = await self._known.get(Asked(payload.content_id, brand, payload.canonical_url))
        if known.erased_at and comes_too_late(brand, command.timestamp, {brand: known.erased_at}):
            return _nothing
        answer = await self._orchestrator.article(payload.content_id, known_etag=known.etag)
        if answer is None:
            return failed(command, _DELETED, context)
        if isinstance(answer, Unchanged):
            return Together(self._record, Brought(command, context, None))
        article = answer.article
        if article.brand.slug != brand:
            raise Unprocessable(
                f"content {payload.content_id} belongs to brand {article.brand.slug!r}, the command says"
                f" {brand!r}; nothing was published"
            )
        if article.taken_down_at is not None:
            return _taken_down(command, article, context)
        if problem := refusal(article):
            return failed(command, problem, context)
        own = f"{known.address}/" if known.address else None
        home = Home(self._urls.origin, self._urls.site(brand), own)
        # In a thread, so that a long or hostile text holds up this message only.
        markup = await asyncio.to_thread(
            to_html, article.body_markdown, frozenset(source.n for source in article.sources), home
        )
        return Together(self._record, Brought(command, context, Publication(article, markup, answer.etag)))

    async def _look(self, asked: Sequence[Asked]) -> Mapping[Asked, Known]:
        async with self._database.connection() as connection:
            return await store.known(connection, asked)

    async def _record(self, tx: Transaction, brought: Sequence[Brought]) -> None:
        # Reading them took a while, in which their brands may have been erased, and they deleted.
        erased = await ERASURES.erased(tx.connection, {each.command.payload.brand_slug for each in brought})
        brought = [
            each
            for each in brought
            if not comes_too_late(each.command.payload.brand_slug, each.command.timestamp, erased)
        ]
        if not brought:
            return
        deleted = await store.deleted(tx.connection, {each.content_id for each in brought})
        for each in brought:
            if each.content_id in deleted:
                await failed(each.command, _DELETED, each.context)(tx)
        brought = [each for each in brought if each.content_id not in deleted]
        publications = [each.publication for each in brought if each.publication is not None]
        if publications:
            await store.publish(tx.connection, *publications)
        places = await store.places(tx.connection, {each.content_id for each in brought})
        for each in brought:
            place = places.get(each.content_id)
            if place is None or place.brand != each.command.payload.brand_slug:
                raise RuntimeError(f"the page of {each.content_id} disappeared while its article was read")
        await self._note_homes(tx, brought, places)
        links = await self._links.of_several(
            tx.connection,
            [
                Leading(
                    each.content_id,
                    places[each.content_id].brand,
                    each.command.payload.target,
                    places[each.content_id].address,
                )
                for each in brought
                if each.command.payload.canonical_url is None
            ],
        )
        for each in brought:
            self._announce(tx, each, places[each.content_id], links.get(each.content_id))

    async def _note_homes(
        self, tx: Transaction, brought: Sequence[Brought], places: Mapping[UUID, Place]
    ) -> None:
        homes = {
            each.content_id: each.command.payload.canonical_url
            for each in brought
            if each.publication is not None
        }
        moved = {
            content_id: url for content_id, url in homes.items() if places[content_id].canonical_url != url
        }
        if moved:
            await store.note_homes(tx.connection, moved)

    def _announce(self, tx: Transaction, each: Brought, place: Place, short_link: str | None) -> None:
        payload = each.command.payload
        urls = self._urls.at(place.brand, place.address)
        url = urls.absolute(urls.article(place.brand, place.slug))
        published = ContentPublished(
            brand_slug=place.brand,
            content_id=payload.content_id,
            published_url=url,
            as_of=place.as_of,
            target=payload.target,
            # At the address of all sites, which other services know, too.
            picture=None
            if place.cover is None
            else picture_of(self._urls, place.brand, place.slug, place.cover),
            short_link=short_link if payload.canonical_url is None else None,
        )
        tx.send(published, caused_by=each.command)
        each.context.log.info("article_published", content_id=str(payload.content_id), url=url)


async def _nothing(_: Transaction) -> None:
    """Nobody waits for an answer about a brand that was erased."""


def _taken_down(command: Command, article: Article, context: Context) -> Record:
    """Nobody waits to hear of a page that goes; of one that never was, whoever waits for it hears why."""
    never_was = Refusal("taken_down", "The article was taken down before it was published.")

    async def record(tx: Transaction) -> None:
        if await store.take_down(tx.connection, article):
            context.log.info("page_taken_down", content_id=str(article.content_id))
        else:
            await failed(command, never_was, context)(tx)

    return record
