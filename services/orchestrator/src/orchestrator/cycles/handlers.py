"""The event router: brand events in, changed keywords and commands out."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentPublished, DeadLetterRecorded, ResearchCompleted, ResearchFailed
from messaging import Transaction
from orchestrator.cycles import store
from orchestrator.cycles.domain import RoutedEvent, decide
from orchestrator.cycles.store import KeywordRow
from orchestrator.writing import ContentId, article_contexts, mark_published

log = structlog.get_logger(__name__)

Event: TypeAlias = DomainMessage[RoutedEvent]
RowKey: TypeAlias = tuple[UUID, int]


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
    articles = await article_contexts(tx.connection, content_ids)
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
        await mark_published(tx.connection, urls)
