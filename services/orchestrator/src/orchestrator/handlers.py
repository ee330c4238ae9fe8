"""Messages in, rows and messages out: the router of brand events, and the content workflow."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeAlias
from uuid import UUID

import structlog
from pydantic import TypeAdapter

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import (
    ContentGenerate,
    ContentGenerated,
    ContentPublished,
    DeadLetterRecorded,
    ResearchCompleted,
    ResearchFailed,
)
from messaging import Context, Database, Record, Transaction, Unprocessable
from orchestrator import content_store, store
from orchestrator.article import Article, Source
from orchestrator.composer import NotEnoughMaterialError, compose
from orchestrator.domain import ContentId, RoutedEvent, decide
from orchestrator.store import Brand, KeywordRow
from orchestrator.workflow import Workflow

log = structlog.get_logger(__name__)

FetchResearch: TypeAlias = Callable[[UUID], Awaitable[tuple[Source, ...]]]
Event: TypeAlias = DomainMessage[RoutedEvent]
RowKey: TypeAlias = tuple[UUID, int]

SOURCES = TypeAdapter(tuple[Source, ...])
ARTICLE = TypeAdapter(Article)


async def route(events: Sequence[Event], tx: Transaction) -> None:
    """Applies a batch of events to the keywords they are about; those about nothing of ours are let go.

    The brands' locks are held from reading the keywords to the commit, so that two replicas never decide about one
    brand at the same time, and no decision is made on what another one is about to change.
    """
    names, content_ids = _mentioned(events)
    now = await store.lock_brands_of(tx.connection, [name[0] for name in names], content_ids)
    if now is None:
        for event in events:
            _let_go(event)
        return
    index = _Index(await store.load_keywords(tx.connection, names, content_ids))
    articles = await content_store.article_contexts(tx.connection, content_ids)
    changed: dict[RowKey, KeywordRow] = {}
    for event in events:
        row = index.find(event)
        if row is None:
            _let_go(event)
            continue
        article = articles.get(row.facts.content_id) if row.facts.content_id else None
        decision = decide(
            row.facts,
            event.payload,
            now=now,
            fresh_content_id=ContentId(new_event_id()),
            article=article,
        )
        if decision.keyword == row.facts:
            log.info("event_changed_nothing", event_id=str(event.event_id), state=row.facts.state)
            continue
        changed[(row.cycle_id, row.position)] = index.put(replace(row, facts=decision.keyword))
        for payload in decision.messages:
            tx.send(payload, caused_by=event, correlation_id=row.correlation_id)
    await store.save_keywords(tx.connection, list(changed.values()))
    await _note_addresses(tx, events, changed.values())


class ContentWorkflow:
    """fetch research → write article → store → announce; each step durable (see workflow.py)."""

    def __init__(self, database: Database, fetch_research: FetchResearch) -> None:
        self._database = database
        self._fetch_research = fetch_research

    async def generate(self, message: DomainMessage[ContentGenerate], context: Context) -> Record:
        """Writes the article of a `content.generate`.

        Raises:
            RetryLater: research cannot be read at the moment.
            Unprocessable: the brand is unknown, or the sources give no article.
        """
        command = message.payload
        brand = await self._brand(command.brand_slug)
        workflow = await Workflow.resume(self._database, command.content_id)
        sources = await workflow.step(
            "fetch_research", SOURCES, partial(self._fetch_research, command.research_id)
        )
        article = await workflow.step(
            "write_article", ARTICLE, partial(_write, command.keyword, sources, brand)
        )
        context.log.info("article_written", content_id=str(command.content_id), words=article.word_count)

        async def record(tx: Transaction) -> None:
            unfinished = await workflow.finish(tx.connection, "store", "announce")
            if "store" in unfinished:
                await content_store.insert_content(
                    tx.connection,
                    content_id=command.content_id,
                    brand_slug=command.brand_slug,
                    keyword=command.keyword,
                    research_id=command.research_id,
                    article=article,
                    sources=[source for source in sources if source.n in article.cited],
                )
            if "announce" in unfinished:
                tx.send(_generated(command, article), caused_by=message)

        return record

    async def _brand(self, slug: str) -> Brand:
        async with self._database.connection() as connection:
            brand = await store.find_brand(connection, slug)
        if brand is None:
            raise Unprocessable(f"unknown brand '{slug}': create it with PUT /v1/brands/{slug}, then replay")
        return brand


class _Index:
    """The batch's keywords as they change under its events, found by what an event says."""

    def __init__(self, rows: Sequence[KeywordRow]) -> None:
        self._by_name: dict[tuple[str, str], KeywordRow] = {}
        self._by_content: dict[UUID, KeywordRow] = {}
        for row in rows:
            self.put(row)

    def put(self, row: KeywordRow) -> KeywordRow:
        self._by_name[row.correlation_id, row.keyword] = row
        if row.facts.content_id is not None:
            self._by_content[row.facts.content_id] = row
        return row

    def find(self, event: Event) -> KeywordRow | None:
        row = None
        if (content_id := _content_id(event.payload)) is not None:
            row = self._by_content.get(content_id)
        elif (name := _name(event)) is not None:
            row = self._by_name.get(name)
        # An id that belongs to another brand is a mix-up elsewhere, not a fact about this brand's keyword.
        slug = event.payload.brand_slug
        return row if row is not None and slug in {None, row.facts.brand_slug} else None


def _mentioned(events: Sequence[Event]) -> tuple[list[tuple[str, str]], list[UUID]]:
    names = {name for event in events if (name := _name(event))}
    content_ids = {content_id for event in events if (content_id := _content_id(event.payload))}
    return sorted(names), sorted(content_ids)


def _name(event: Event) -> tuple[str, str] | None:
    """(correlation_id, keyword), for events that know no article."""
    match event.payload:
        case ResearchCompleted() | ResearchFailed() | DeadLetterRecorded() as payload:
            if event.correlation_id is None or payload.keyword is None:
                return None
            return event.correlation_id, payload.keyword
        case _:
            return None


def _content_id(payload: RoutedEvent) -> UUID | None:
    match payload:
        case ResearchCompleted() | ResearchFailed():
            return None
        case _:
            return payload.content_id


def _let_go(event: Event) -> None:
    log.info("event_about_nothing_known", event_id=str(event.event_id), correlation_id=event.correlation_id)


async def _note_addresses(tx: Transaction, events: Sequence[Event], changed: Iterable[KeywordRow]) -> None:
    published = {event.payload.content_id for event in events if isinstance(event.payload, ContentPublished)}
    urls: dict[UUID, str] = {
        row.facts.content_id: row.facts.published_url
        for row in changed
        if row.facts.content_id in published and row.facts.published_url is not None
    }
    if urls:
        await content_store.mark_published(tx.connection, urls)


_COMPOSER = ThreadPoolExecutor(1, thread_name_prefix="composer")
"""One thread: composing is pure computing, so a second one would only quarrel with it and with the event loop."""


async def _write(keyword: str, sources: tuple[Source, ...], brand: Brand) -> Article:
    """Composes in a thread: long sources take a while, during which other messages have to be served."""
    work = partial(compose, keyword=keyword, sources=sources, brand_name=brand.name, language=brand.language)
    try:
        return await asyncio.get_running_loop().run_in_executor(_COMPOSER, work)
    except NotEnoughMaterialError as exc:
        raise Unprocessable(
            f"{exc}; add material on '{keyword}' to what research reads, then ask again"
        ) from exc


def _generated(command: ContentGenerate, article: Article) -> ContentGenerated:
    return ContentGenerated(
        brand_slug=command.brand_slug,
        content_id=command.content_id,
        keyword=command.keyword,
        word_count=article.word_count,
    )
