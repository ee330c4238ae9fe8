"""The event router: brand events in, changed keywords and commands out."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Self, TypeAlias
from uuid import UUID

import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentPublished, DeadLetterRecorded, ResearchCompleted, ResearchFailed
from messaging import Transaction
from orchestrator.cycles import store
from orchestrator.cycles.domain import BRAND_ARTICLES, RoutedEvent, decide, take_turn
from orchestrator.cycles.facts import KeywordState
from orchestrator.cycles.store import KeywordRow
from orchestrator.writing import ContentId, article_contexts, mark_published

log = structlog.get_logger(__name__)

Event: TypeAlias = DomainMessage[RoutedEvent]
RowKey: TypeAlias = tuple[UUID, int]


async def route(events: Sequence[Event], tx: Transaction, *, brand_articles: int = BRAND_ARTICLES) -> None:
    """Applies a batch of events to the keywords they are about; those about nothing of ours are let go.

    Of each brand at most `brand_articles` are sent to be written before one of them ends, so that the queue in front of the
    writers, which is first come, first served, has something of every brand near its head.

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
    turns = await _Turns.of(tx, events, brand_articles)
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
            has_turn=turns.left(row.facts.brand_slug),
        )
        if decision.keyword == row.facts:
            log.info("event_changed_nothing", event_id=str(event.event_id), state=row.facts.state)
            continue
        turns.note(row.facts.brand_slug, row.facts.state, decision.keyword.state)
        changed[(row.cycle_id, row.position)] = index.put(replace(row, facts=decision.keyword))
        for payload in decision.messages:
            tx.send(payload, caused_by=event, correlation_id=row.correlation_id)
    await store.save_keywords(tx.connection, list(changed.values()))
    await give_turns(tx, turns.freed, brand_articles, now=now)
    await _note_addresses(tx, events, changed.values())


async def give_turns(tx: Transaction, slugs: Collection[str], brand_articles: int, *, now: datetime) -> int:
    """Sends what has waited for its turn to be written, as far as there is room; returns how many.

    The brands' locks must be held.
    """
    if not slugs:
        return 0
    rows = await store.next_turns(tx.connection, sorted(slugs), brand_articles)
    begun: list[KeywordRow] = []
    for row in rows:
        decision = take_turn(row.facts, row.keyword, now=now)
        begun.append(replace(row, facts=decision.keyword))
        for payload in decision.messages:
            # What made room for it is another keyword's event, whose trace this does not belong to.
            tx.send(payload, correlation_id=row.correlation_id, own_trace=True)
    await store.save_keywords(tx.connection, begun)
    return len(begun)


class _Turns:
    """Of the brands that a batch is about: how many more articles may be sent to be written, and where one has ended."""

    def __init__(self, left: dict[str, int]) -> None:
        self._left = left
        self.freed: set[str] = set()

    @classmethod
    async def of(cls, tx: Transaction, events: Sequence[Event], brand_articles: int) -> Self:
        slugs = {event.payload.brand_slug for event in events if isinstance(event.payload, ResearchCompleted)}
        taken = await store.in_hand(tx.connection, sorted(slugs)) if slugs else {}
        return cls({slug: brand_articles - taken.get(slug, 0) for slug in slugs})

    def left(self, slug: str) -> bool:
        return self._left.get(slug, 1) > 0

    def note(self, slug: str, before: KeywordState, after: KeywordState) -> None:
        if after is KeywordState.WRITING and before is not after and slug in self._left:
            self._left[slug] -= 1
        elif before is KeywordState.WRITING and before is not after:
            self.freed.add(slug)


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
