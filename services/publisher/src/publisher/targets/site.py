"""The built-in site as a target; its pages are rows of this database.

It needs neither an account nor receipts: a transaction stores the page and its event, or neither. It satisfies the same tests
as every target (`tests/targets/test_target_conformance.py`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from chassis.coalescing import RequestCoalescer
from envelope import DomainMessage
from envelope.brand.payloads import ContentPublish, ContentPublished
from messaging import Context, Database, GroupedRecord, Record, Transaction, Unprocessable
from messaging.erasure import is_of_erased_brand
from publisher import store
from publisher.covers import picture_of
from publisher.domain import Article, BrandSlug, PublishRefusal, publish_refusal
from publisher.erasure import ERASURES
from publisher.markup import Home, to_html
from publisher.orchestrator_client import OrchestratorClient, Unchanged
from publisher.short_links import LinkedArticle, ShortLinks
from publisher.store import ExistingArticle, PageLocation, PublishCommand, RenderedArticle
from publisher.targets.target_publisher import report_failure
from publisher.urls import SiteUrls

Command = DomainMessage[ContentPublish]

AT_ONCE: Final = 16
"""Commands handled concurrently; those that finish together are stored together."""
_DELETED: Final = PublishRefusal("deleted", "The article was deleted; it has no page any more.")


@dataclass(frozen=True, slots=True)
class SiteJob:
    """The work of one command, ready for storage."""

    command: Command
    context: Context
    publication: RenderedArticle | None
    """None if the article has not changed since its publication."""

    @property
    def content_id(self) -> UUID:
        return self.command.payload.content_id


class BuiltInSite:
    def __init__(self, database: Database, orchestrator: OrchestratorClient, urls: SiteUrls) -> None:
        self._database = database
        self._orchestrator = orchestrator
        self._urls = urls
        self._links = ShortLinks(urls)
        self._known: RequestCoalescer[PublishCommand, ExistingArticle] = RequestCoalescer(
            self._find_existing, limit=AT_ONCE
        )

    async def publish(self, command: Command, context: Context) -> Record | GroupedRecord[SiteJob]:
        payload = command.payload
        brand = BrandSlug(payload.brand_slug)
        known = await self._known.get(PublishCommand(payload.content_id, brand, payload.canonical_url))
        if known.erased_at and is_of_erased_brand(brand, command.timestamp, {brand: known.erased_at}):
            return _record_nothing
        answer = await self._orchestrator.article(payload.content_id, known_etag=known.etag)
        if answer is None:
            return report_failure(command, _DELETED, context)
        if isinstance(answer, Unchanged):
            return GroupedRecord(self._record, SiteJob(command, context, None))
        article = answer.article
        if article.brand.slug != brand:
            raise Unprocessable(
                f"content {payload.content_id} belongs to brand {article.brand.slug!r}, the command says"
                f" {brand!r}; nothing was published"
            )
        if article.taken_down_at is not None:
            return _record_taken_down(command, article, context)
        if problem := publish_refusal(article):
            return report_failure(command, problem, context)
        own = f"{known.address}/" if known.address else None
        home = Home(self._urls.origin, self._urls.site(brand), own)
        # In a thread, so that a long or hostile text delays only this message.
        markup = await asyncio.to_thread(
            to_html, article.body_markdown, frozenset(source.n for source in article.sources), home
        )
        return GroupedRecord(
            self._record, SiteJob(command, context, RenderedArticle(article, markup, answer.etag))
        )

    async def _find_existing(
        self, asked: Sequence[PublishCommand]
    ) -> Mapping[PublishCommand, ExistingArticle]:
        async with self._database.connection() as connection:
            return await store.find_existing(connection, asked)

    async def _record(self, tx: Transaction, jobs: Sequence[SiteJob]) -> None:
        # While articles were read, their brands may have been erased, or they deleted.
        erased = await ERASURES.erasure_times(
            tx.connection, {each.command.payload.brand_slug for each in jobs}
        )
        jobs = [
            each
            for each in jobs
            if not is_of_erased_brand(each.command.payload.brand_slug, each.command.timestamp, erased)
        ]
        if not jobs:
            return
        deleted = await store.find_deleted(tx.connection, {each.content_id for each in jobs})
        for each in jobs:
            if each.content_id in deleted:
                await report_failure(each.command, _DELETED, each.context)(tx)
        jobs = [each for each in jobs if each.content_id not in deleted]
        publications = [each.publication for each in jobs if each.publication is not None]
        if publications:
            await store.publish(tx.connection, *publications)
        locations = await store.locate_pages(tx.connection, {each.content_id for each in jobs})
        for each in jobs:
            location = locations.get(each.content_id)
            if location is None or location.brand != each.command.payload.brand_slug:
                raise RuntimeError(f"the page of {each.content_id} disappeared while its article was read")
        await self._set_canonical_urls(tx, jobs, locations)
        links = await self._links.urls_of(
            tx.connection,
            [
                LinkedArticle(
                    each.content_id,
                    locations[each.content_id].brand,
                    each.command.payload.target,
                    locations[each.content_id].address,
                )
                for each in jobs
                if each.command.payload.canonical_url is None
            ],
        )
        for each in jobs:
            self._announce(tx, each, locations[each.content_id], links.get(each.content_id))

    async def _set_canonical_urls(
        self, tx: Transaction, jobs: Sequence[SiteJob], locations: Mapping[UUID, PageLocation]
    ) -> None:
        homes = {
            each.content_id: each.command.payload.canonical_url
            for each in jobs
            if each.publication is not None
        }
        moved = {
            content_id: url for content_id, url in homes.items() if locations[content_id].canonical_url != url
        }
        if moved:
            await store.set_canonical_urls(tx.connection, moved)

    def _announce(
        self, tx: Transaction, each: SiteJob, location: PageLocation, short_link: str | None
    ) -> None:
        payload = each.command.payload
        urls = self._urls.at(location.brand, location.address)
        url = urls.absolute(urls.article(location.brand, location.slug))
        published = ContentPublished(
            brand_slug=location.brand,
            content_id=payload.content_id,
            published_url=url,
            as_of=location.as_of,
            target=payload.target,
            # The shared address of all sites: other services know it, too.
            picture=None
            if location.cover is None
            else picture_of(self._urls, location.brand, location.slug, location.cover),
            short_link=short_link if payload.canonical_url is None else None,
            tags=location.tags,
        )
        tx.send(published, caused_by=each.command)
        each.context.log.info("article_published", content_id=str(payload.content_id), url=url)


async def _record_nothing(_: Transaction) -> None:
    """Stores nothing: the brand was erased, so no answer is due."""


def _record_taken_down(command: Command, article: Article, context: Context) -> Record:
    """Hides the article's page; sends a failure if it never had one."""
    never_was = PublishRefusal("taken_down", "The article was taken down before it was published.")

    async def record(tx: Transaction) -> None:
        if await store.take_down(tx.connection, article):
            context.log.info("page_taken_down", content_id=str(article.content_id))
        else:
            await report_failure(command, never_was, context)(tx)

    return record
