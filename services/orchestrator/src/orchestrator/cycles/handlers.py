"""The event router: brand events in, changed keywords and commands out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias
from uuid import UUID

import structlog

from envelope import NO_LIMITS, ChainLimits, DomainMessage, Payload, new_event_id
from envelope.brand.payloads import (
    ArticleContext,
    ContentGenerate,
    ContentPublished,
    DeadLetterRecorded,
    ResearchCompleted,
    ResearchFailed,
)
from messaging import Transaction
from orchestrator.article_workflow import ContentId, article_contexts, mark_published
from orchestrator.cycles import keyword_rows, store
from orchestrator.cycles.commit_losses import ResearchLosses, note_late_answers, send_research_again
from orchestrator.cycles.deadlines import extend_limits
from orchestrator.cycles.dispatch import (
    DEFAULT_LIMITS,
    NO_LOAD,
    BrandLimits,
    BrandLoad,
    brand_loads,
    dispatch_waiting,
)
from orchestrator.cycles.domain import RoutedEvent, StepTurn, content_id_of, decide
from orchestrator.cycles.facts import Keyword, KeywordState, Stage, StageCommand
from orchestrator.cycles.finished_work import report_finished_work
from orchestrator.cycles.keyword_rows import KeywordRow
from orchestrator.ended_keywords import log_ended_keywords
from orchestrator.integration_events import announce_ended_cycles
from orchestrator.placements import publish_to_further_targets, record_target_answers

log = structlog.get_logger(__name__)

_SHOWN: Final = 5
"""Ids of ignored events that the log shows."""

Event: TypeAlias = DomainMessage[RoutedEvent]
RowKey: TypeAlias = tuple[UUID, int]


async def route(events: Sequence[Event], tx: Transaction, *, limits: BrandLimits = DEFAULT_LIMITS) -> None:
    """Applies a batch of events to their keywords; events about unknown keywords are ignored.

    Limits how many articles of a brand are sent to the writers at a time, so that their first-come queue
    has articles of every brand near its head. Keywords that end free capacity for waiting ones.

    Holds the brands' locks from reading the keywords to the commit, so that no two replicas decide about one
    brand at the same time.
    """
    names, content_ids = _mentioned(events)
    locked = await store.lock_brands_of(
        tx.connection, [name[0] for name in names], content_ids, _brands_of_publications(events)
    )
    everything = events
    events = await record_target_answers(tx, events)
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
    turns = _BatchCapacity(slugs, await brand_loads(tx.connection, slugs), limits)
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
            deadline=event.deadline,
        )
        if decision.keyword == row.facts:
            log.info("event_changed_nothing", event_id=str(event.event_id), state=row.facts.state)
            continue
        turns.note(row.facts, decision.keyword)
        if decision.keyword.has_ended and not row.facts.has_ended:
            ends.append(replace(row, facts=decision.keyword))
        command = row.command
        for payload in decision.messages:
            event_id = tx.send(
                payload,
                caused_by=event,
                correlation_id=row.correlation_id,
                limits=_limits_of(payload, event, row),
            )
            if isinstance(payload, ContentGenerate):
                command = StageCommand(Stage.WRITING, event_id)
        changed[(row.cycle_id, row.position)] = index.put(
            replace(row, facts=decision.keyword, command=command, trace=tx.trace_of(event) or row.trace)
        )
    _let_go(strange)
    await keyword_rows.save_keywords(tx.connection, list(changed.values()))
    await extend_limits(tx.connection, events, index.find)
    await log_ended_keywords(each.as_ended for each in ends)
    await report_finished_work(tx, everything, index.rows)
    # Before keywords that follow another are settled: an article counts once it has its address.
    await _note_addresses(tx, events)
    await note_late_answers(tx, events)
    await dispatch_waiting(tx, turns.freed, limits, now=now)
    if ended := {row.facts.brand_slug for row in changed.values() if row.facts.has_ended}:
        await announce_ended_cycles(tx, ended)


class _BatchCapacity:
    """The capacity of a batch's brands: how many more articles may go to writers, and which brands gained capacity."""

    def __init__(self, slugs: Iterable[str], standing: Mapping[str, BrandLoad], limits: BrandLimits) -> None:
        at = {slug: standing.get(slug, NO_LOAD) for slug in slugs}
        # Waiting keywords go before new ones.
        self._left = {
            slug: each.room_for_articles(limits) - each.awaiting_writing for slug, each in at.items()
        }
        self._waited = {slug for slug, each in at.items() if each.awaiting_research or each.awaiting_writing}
        self._roomier: set[str] = set()
        self._followed = {slug for slug, each in at.items() if each.following}

    def turn_of(self, row: KeywordRow) -> StepTurn:
        if row.in_cancelled_cycle:
            return StepTurn.NEVER
        return (
            StepTurn.NOW if row.held_up is None and self._left[row.facts.brand_slug] > 0 else StepTurn.LATER
        )

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
        """Brands with free capacity for waiting keywords, or with an article that keywords follow."""
        return self._roomier & self._waited | self._followed


class _Index:
    """The batch's keywords, updated by its events, and found by the fields of an event."""

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
    """The brands of publications in the events. After a cycle is deleted, only the event names the brand."""
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
    """The articles that may be promoted now: those with an address, or published by these events."""
    told = {event.payload.content_id for event in events if isinstance(event.payload, ContentPublished)}
    told |= {
        row.facts.content_id
        for row in rows
        if row.facts.content_id is not None and row.facts.published_url and not row.facts.promoted
    }
    return await article_contexts(tx.connection, sorted(told)) if told else {}


def _name(event: Event) -> tuple[str, str] | None:
    """(correlation_id, keyword), for events without an article."""
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
    return ContentId(new_event_id())  # not used


def _limits_of(payload: Payload, event: Event, row: KeywordRow) -> ChainLimits:
    """The event's. An article of an older version of research, which passes none on, has those of its request.

    A draft that a person approves has none: it is published although its deadline has passed.
    """
    return event.limits or (row.limits if isinstance(payload, ContentGenerate) else NO_LIMITS)


def _let_go(events: Sequence[Event]) -> None:
    """Logs ignored events in one line, as a flood of replays may have thousands."""
    if events:
        log.info(
            "events_about_nothing_known",
            count=len(events),
            types=sorted({event.type for event in events}),
            event_ids=[str(event.event_id) for event in events[:_SHOWN]],
        )


async def _note_addresses(tx: Transaction, events: Sequence[Event]) -> None:
    # Also for articles of deleted cycles.
    published = [event.payload for event in events if isinstance(event.payload, ContentPublished)]
    if published:
        await mark_published(tx.connection, published)
        await publish_to_further_targets(tx, events)
