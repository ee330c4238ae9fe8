"""Handles `research.requested`: searches, stores, and sends `research.completed`, `.failed` or `.waiting`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from chassis import redaction
from chassis.coalescing import RequestCoalescer
from envelope import DomainMessage, Payload
from envelope.brand.payloads import (
    OpenQuestions,
    ResearchCompleted,
    ResearchFailed,
    ResearchRequested,
    ResearchWaiting,
)
from messaging import Context, Database, GroupedRecord, Transaction, WaitFor
from messaging.erasure import is_of_erased_brand
from reading.cleaning import one_line
from reading.ranking.sources import InsufficientSources, ResearchResult
from research import store
from research.clients.provider import ResearchProvider, ResearchQuery
from research.domain import CACHE_PERIOD
from research.erasure import ERASURES
from research.sources.domain import SourceSettings
from research.sources.store import sources_of_brands

log = structlog.get_logger(__name__)

PATIENT_ATTEMPTS = 3
"""Number of the attempt that no longer waits for unreadable pages."""
MAX_DETAIL = 1_000
"""Characters of the reason in `research.waiting`."""


AT_ONCE = 50
"""Commands that one database lookup serves; more than handlers run at a time."""


@dataclass(frozen=True, slots=True)
class ResearchLookup:
    """The fields of a command that decide whether the cache can answer it."""

    brand: str
    keyword: str
    not_before: datetime | None


@dataclass(frozen=True, slots=True)
class ResearchContext:
    """The database's answer to a lookup: erasure, source settings, and cached research."""

    erased_at: datetime | None
    sources: SourceSettings
    key: store.ResearchCacheKey
    research_id: store.ResearchId | None
    """Research that may be reused; None if a search is needed."""


@dataclass(frozen=True, slots=True)
class QuestionsAnswered:
    """Sources on the questions of an article, to be stored under `answers_id`."""

    answers_id: UUID
    answers: store.NewResearch


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """A command and its result: existing research, research to store, answers, a refusal, or None if nothing is left to do."""

    message: DomainMessage[ResearchRequested]
    outcome: store.ResearchId | store.NewResearch | QuestionsAnswered | InsufficientSources | None


class Handlers:
    def __init__(self, database: Database, provider: ResearchProvider) -> None:
        self._database = database
        self._provider = provider
        self._lookups = RequestCoalescer(self._look_up, limit=AT_ONCE)

    async def research_requested(
        self, message: DomainMessage[ResearchRequested], context: Context
    ) -> GroupedRecord[CommandOutcome]:
        """Answer from the cache or search; the search runs with no transaction open.

        Raises:
            WaitFor, RetryLater, Unprocessable: see `ResearchProvider.search`; the requester hears of long waits.
        """
        request = message.payload
        known = await self._lookups.get(
            ResearchLookup(request.brand_slug, request.keyword, request.not_before)
        )
        if known.erased_at is not None and _is_late(message, {request.brand_slug: known.erased_at}):
            return GroupedRecord(store_outcomes, CommandOutcome(message, None))
        if request.open_questions is not None:
            answered = await self._answers(message, request.open_questions, context, known)
            return GroupedRecord(store_outcomes, CommandOutcome(message, answered))
        try:
            return GroupedRecord(
                store_outcomes, CommandOutcome(message, await self._outcome(message, context, known))
            )
        except WaitFor as wait:
            await self._announce_wait(message, wait)
            raise

    async def _look_up(self, asked: Sequence[ResearchLookup]) -> Mapping[ResearchLookup, ResearchContext]:
        brands = list({each.brand for each in asked})
        async with self._database.connection() as connection:
            erased = await ERASURES.erasure_times(connection, brands)
            sources = await sources_of_brands(connection, brands)
            keys = [self._cache_key(each, sources[each.brand]) for each in asked]
            cached = await store.fresh_researches(connection, keys)
        return {
            each: ResearchContext(erased.get(each.brand), sources[each.brand], key, research_id)
            for each, key, research_id in zip(asked, keys, cached, strict=True)
        }

    def _cache_key(self, asked: ResearchLookup, sources: SourceSettings) -> store.ResearchCacheKey:
        return store.ResearchCacheKey(
            brand_slug=asked.brand,
            keyword=asked.keyword,
            provider=self._provider.name(sources),
            looked_in=sources.fingerprint,
            not_before=asked.not_before,
        )

    async def _announce_wait(self, message: DomainMessage[ResearchRequested], wait: WaitFor) -> None:
        async with self._database.transaction() as tx:
            until = await store.record_wait(tx.connection, message.event_id, wait.dependency, wait.after)
            if until is None:
                return
            waiting = ResearchWaiting(
                brand_slug=message.payload.brand_slug,
                keyword=message.payload.keyword,
                waits_for=wait.dependency,
                detail=one_line(redaction.text(str(wait)))[:MAX_DETAIL],
                until=until,
            )
            tx.send(waiting, caused_by=message)
        log.info(
            "research_waits",
            brand=waiting.brand_slug,
            keyword=waiting.keyword,
            waits_for=waiting.waits_for,
            until=until.isoformat(),
        )

    async def _answers(
        self,
        message: DomainMessage[ResearchRequested],
        asked: OpenQuestions,
        context: Context,
        known: ResearchContext,
    ) -> QuestionsAnswered | None:
        """Search for an article's questions, once for each `answers_id`: it names the paid calls, too."""
        async with self._database.connection() as connection:
            if await store.has_research(connection, asked.answers_id):
                return None
        request = message.payload
        query = ResearchQuery(
            request.keyword,
            request.brand_slug,
            known.sources,
            command=asked.answers_id,
            alone=context.alone,
            questions=asked.questions,
        )
        found = await self._provider.search_questions(query)
        log.info(
            "questions_searched",
            brand=request.brand_slug,
            keyword=request.keyword,
            questions=asked.questions,
            sources=len(found.sources),
            left_out=found.left_out,
        )
        new = store.NewResearch(
            # The keyword's own research is another.
            replace(known.key, provider=f"{known.key.provider}, open questions"),
            priority=request.priority,
            sources=found.sources,
            cached=timedelta(0),
            left_out=found.left_out,
        )
        return QuestionsAnswered(asked.answers_id, new)

    async def _outcome(
        self, message: DomainMessage[ResearchRequested], context: Context, known: ResearchContext
    ) -> store.ResearchId | store.NewResearch | InsufficientSources:
        request = message.payload
        if known.research_id is not None:
            log.info(
                "research_reused",
                brand=request.brand_slug,
                keyword=request.keyword,
                research_id=str(known.research_id),
            )
            return known.research_id
        query = ResearchQuery(
            request.keyword,
            request.brand_slug,
            known.sources,
            command=message.event_id,
            patient=context.attempt < PATIENT_ATTEMPTS,
            alone=context.alone,
        )
        findings = await self._provider.search(query)
        match findings:
            case InsufficientSources():
                log.info(
                    "research_refused",
                    brand=request.brand_slug,
                    keyword=request.keyword,
                    reason=findings.reason,
                )
                return findings
            case ResearchResult():
                log.info(
                    "research_done",
                    brand=request.brand_slug,
                    keyword=request.keyword,
                    sources=len(findings.sources),
                    left_out=findings.left_out,
                    attempt=context.attempt,
                )
                return store.NewResearch(
                    known.key,
                    priority=request.priority,
                    sources=findings.sources,
                    cached=timedelta(0) if findings.is_preliminary else CACHE_PERIOD,
                    left_out=findings.left_out,
                )


async def store_outcomes(tx: Transaction, ends: Sequence[CommandOutcome]) -> None:
    """Store the outcomes of commands and send the answers; commands older than their brand's erasure leave nothing."""
    await store.forget_commands(tx.connection, [end.message.event_id for end in ends])
    # A brand may have been erased during the search.
    erased = await ERASURES.erasure_times(tx.connection, {end.message.payload.brand_slug for end in ends})
    kept = [end for end in ends if not _is_late(end.message, erased)]
    new = [end.outcome for end in kept if isinstance(end.outcome, store.NewResearch)]
    stored = iter(await store.save_researches(tx.connection, new))
    for end in kept:
        request = end.message.payload
        match end.outcome:
            case None:
                continue
            case QuestionsAnswered(answers_id, answers):
                await store.save_answers(tx.connection, answers_id, answers)
                continue
            case InsufficientSources() as refusal:
                answer: Payload = _failed(request, refusal)
            case store.NewResearch():
                answer = _completed(request, next(stored))
            case research_id:
                answer = _completed(request, research_id)
        tx.send(answer, caused_by=end.message)


def _is_late(message: DomainMessage[ResearchRequested], erased: Mapping[str, datetime]) -> bool:
    return is_of_erased_brand(message.payload.brand_slug, message.timestamp, erased)


def _completed(request: ResearchRequested, research_id: store.ResearchId) -> ResearchCompleted:
    return ResearchCompleted(brand_slug=request.brand_slug, research_id=research_id, keyword=request.keyword)


def _failed(request: ResearchRequested, refusal: InsufficientSources) -> ResearchFailed:
    return ResearchFailed(
        brand_slug=request.brand_slug,
        keyword=request.keyword,
        reason=refusal.reason,
        detail=refusal.detail,
    )
