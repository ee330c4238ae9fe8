"""The event router: brand events in, changed keywords and commands out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias
from uuid import UUID

import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import (
    ArticleContext,
    ContentGenerate,
    ContentPublished,
    DeadLetterRecorded,
    ResearchCompleted,
    ResearchFailed,
)
from messaging import Transaction
from orchestrator.cycles import keyword_rows, store
from orchestrator.cycles.commit_losses import ResearchLosses, note_late_answers, send_research_again
from orchestrator.cycles.domain import RoutedEvent, Turn, content_id_of, decide
from orchestrator.cycles.facts import Command, Keyword, KeywordState, Stage
from orchestrator.cycles.finished_work import report_finished_work
from orchestrator.cycles.keyword_rows import KeywordRow
from orchestrator.cycles.turns import DEFAULT_ROOM, NOTHING_IN_HAND, Room, Standing, give_turns, standings
from orchestrator.ended_keywords import log_ended_keywords
from orchestrator.outside import tell_of_ends
from orchestrator.placements import learn, spread
from orchestrator.writing import ContentId, article_contexts, mark_published

log = structlog.get_logger(__name__)

_SHOWN: Final = 5
"""Of events that are let go: enough to look one up."""

Event: TypeAlias = DomainMessage[RoutedEvent]
RowKey: TypeAlias = tuple[UUID, int]


async def route(events: Sequence[Event], tx: Transaction, *, room: Room = DEFAULT_ROOM) -> None:
    """Applies a batch of events to the keywords they are about; those about nothing of ours are let go.

    Of each brand only so much is sent to be written before some of it has ended, so that the queue in front of the writers,
    which is first come, first served, has something of every brand near its head; what ends makes room for what waits.

    The brands' locks are held from reading the keywords to the commit, so that two replicas never decide about one
    brand at the same time, and no decision is made on what another one is about to change.
    """
    names, content_ids = _mentioned(events)
    locked = await store.lock_brands_of(
        tx.connection, [name[0] for name in names], content_ids, _brands_of_publications(events)
    )
    everything = events
    events = await learn(tx, events)
    if locked is None:
        _let_go(events)
        await _note_addresses(tx, events)
        await note_late_answers(tx, events)
        return
    slugs, now = locked
    rows = await keyword_rows.load_keywords(tx.connection, names, content_ids)
    index = _Index(rows)
    articles = await _promotable(tx, events, rows)
    losses = await ResearchLosses.load(tx.connection, events)
    turns = _Turns(slugs, await standings(tx.connection, slugs), room)
    changed: dict[RowKey, KeywordRow] = {}
    strange: list[Event] = []
    ends: list[KeywordRow] = []
    for event in events:
        row = index.find(event)
        if row is None:
            strange.append(event)
            continue
        if _awaits_research(row) and losses.may_include(event, row.facts.moved_at):
            changed[(row.cycle_id, row.position)] = index.put(send_research_again(tx, row, now=now))
            continue
        article = articles.get(row.facts.content_id) if row.facts.content_id else None
        decision = decide(
            row.facts,
            event.payload,
            now=now,
            fresh_content_id=_fresh_content_id(row, event),
            article=article,
            turn=turns.turn_of(row),
        )
        if decision.keyword == row.facts:
            log.info("event_changed_nothing", event_id=str(event.event_id), state=row.facts.state)
            continue
        turns.note(row.facts, decision.keyword)
        if decision.keyword.has_ended and not row.facts.has_ended:
            ends.append(replace(row, facts=decision.keyword))
        command = row.command
        for payload in decision.messages:
            event_id = tx.send(payload, caused_by=event, correlation_id=row.correlation_id)
            if isinstance(payload, ContentGenerate):
                command = Command(Stage.WRITING, event_id)
        changed[(row.cycle_id, row.position)] = index.put(
            replace(row, facts=decision.keyword, command=command, trace=tx.trace_of(event) or row.trace)
        )
    _let_go(strange)
    await keyword_rows.save_keywords(tx.connection, list(changed.values()))
    await log_ended_keywords(each.as_ended for each in ends)
    await report_finished_work(tx, everything, index.rows)
    # Before those are looked at that wait for an article of their subject: it stands once it has its address.
    await _note_addresses(tx, events)
    await note_late_answers(tx, events)
    await give_turns(tx, turns.freed, room, now=now)
    if ended := {row.facts.brand_slug for row in changed.values() if row.facts.has_ended}:
        await tell_of_ends(tx, ended)


class _Turns:
    """Of the brands that a batch is about: how many more articles may be sent to be written, and where room has come about."""

    def __init__(self, slugs: Iterable[str], standing: Mapping[str, Standing], room: Room) -> None:
        at = {slug: standing.get(slug, NOTHING_IN_HAND) for slug in slugs}
        # What waits already goes before what comes now.
        self._left = {slug: each.room_for_articles(room) - each.awaiting_writing for slug, each in at.items()}
        self._waited = {slug for slug, each in at.items() if each.awaiting_research or each.awaiting_writing}
        self._roomier: set[str] = set()
        self._followed = {slug for slug, each in at.items() if each.following}

    def turn_of(self, row: KeywordRow) -> Turn:
        if row.in_cancelled_cycle:
            return Turn.NEVER
        return Turn.NOW if row.held_up is None and self._left[row.facts.brand_slug] > 0 else Turn.LATER

    def note(self, before: Keyword, after: Keyword) -> None:
        slug = after.brand_slug
        if after.awaits_turn:
            self._waited.add(slug)
        if before.state is after.state:
            return
        if after.state is KeywordState.WRITING:
            self._left[slug] -= 1
        if before.state in {KeywordState.QUEUED, KeywordState.WRITING}:
            self._roomier.add(slug)

    @property
    def freed(self) -> set[str]:
        """Brands that may have room for what waits, or an article that keywords wait for."""
        return self._roomier & self._waited | self._followed


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

    @property
    def rows(self) -> list[KeywordRow]:
        return list(self._by_name.values())

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


def _brands_of_publications(events: Sequence[Event]) -> list[str]:
    """Whose publications the events are about: of an article whose cycle is gone nothing else leads to the brand."""
    return sorted(
        {
            event.payload.brand_slug
            for event in events
            if isinstance(event.payload, ContentPublished | DeadLetterRecorded)
            and event.payload.content_id is not None
            and event.payload.brand_slug is not None
        }
    )


async def _promotable(
    tx: Transaction, events: Sequence[Event], rows: Sequence[KeywordRow]
) -> dict[UUID, ArticleContext]:
    """The articles of which posts may be asked for now: those that have an address, or are told to."""
    told = {event.payload.content_id for event in events if isinstance(event.payload, ContentPublished)}
    told |= {
        row.facts.content_id
        for row in rows
        if row.facts.content_id is not None and row.facts.published_url and not row.facts.promoted
    }
    return await article_contexts(tx.connection, sorted(told)) if told else {}


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


def _awaits_research(row: KeywordRow) -> bool:
    return row.facts.state is KeywordState.QUEUED and not row.in_cancelled_cycle


def _fresh_content_id(row: KeywordRow, event: Event) -> ContentId:
    if isinstance(event.payload, ResearchCompleted):
        return content_id_of(row.cycle_id, row.position)
    return ContentId(new_event_id())  # nobody needs it


def _let_go(events: Sequence[Event]) -> None:
    """Says so once for all of them: after a flood of replays, say, they are thousands."""
    if events:
        log.info(
            "events_about_nothing_known",
            count=len(events),
            types=sorted({event.type for event in events}),
            event_ids=[str(event.event_id) for event in events[:_SHOWN]],
        )


async def _note_addresses(tx: Transaction, events: Sequence[Event]) -> None:
    # Of articles whose cycle is gone, too.
    published = [event.payload for event in events if isinstance(event.payload, ContentPublished)]
    if published:
        await mark_published(tx.connection, published)
        await spread(tx, events)
