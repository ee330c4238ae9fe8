"""`research.requested` → search → rows and `research.completed` or `research.failed`; and `research.waiting` where it has to wait."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from chassis import redaction
from chassis.gathering import Gathering
from envelope import DomainMessage, Payload
from envelope.brand.payloads import ResearchCompleted, ResearchFailed, ResearchRequested, ResearchWaiting
from messaging import Context, Database, GroupedRecord, Transaction, WaitFor
from messaging.erasure import is_of_erased_brand
from research import store
from research.clients.provider import Provider, Wanted
from research.domain import CACHE_PERIOD, Found, Insufficient
from research.erasure import ERASURES
from research.reading.cleaning import one_line
from research.sources.domain import Sources
from research.sources.store import sources_of_brands

log = structlog.get_logger(__name__)

PATIENT_ATTEMPTS = 3
"""From this attempt on, what can be read now has to do."""
MAX_DETAIL = 1_000
"""Characters of why it waits that are told."""


AT_ONCE = 50
"""Commands about which it is looked together what is known; more than handlers run at a time."""


@dataclass(frozen=True, slots=True)
class Asked:
    brand: str
    keyword: str
    not_before: datetime | None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before anything is searched for."""

    erased_at: datetime | None
    sources: Sources
    inquiry: store.Inquiry
    research_id: store.ResearchId | None
    """What was found before and is good still."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ends: with research that there is, or that is to be stored; refused; or, without a word, too late."""

    message: DomainMessage[ResearchRequested]
    outcome: store.ResearchId | store.NewResearch | Insufficient | None


class Handlers:
    def __init__(self, database: Database, provider: Provider) -> None:
        self._database = database
        self._provider = provider
        self._known = Gathering(self._look, limit=AT_ONCE)

    async def research_requested(
        self, message: DomainMessage[ResearchRequested], context: Context
    ) -> GroupedRecord[Ended]:
        """Answer from the cache or search; the search runs with no transaction open.

        Raises:
            WaitFor, RetryLater, Unprocessable: as of `Provider.search`; who asked is told of a wait that is worth a word.
        """
        request = message.payload
        known = await self._known.get(Asked(request.brand_slug, request.keyword, request.not_before))
        if known.erased_at is not None and _is_late(message, {request.brand_slug: known.erased_at}):
            return GroupedRecord(write, Ended(message, None))
        try:
            return GroupedRecord(write, Ended(message, await self._outcome(message, context, known)))
        except WaitFor as wait:
            await self._tell(message, wait)
            raise

    async def _look(self, asked: Sequence[Asked]) -> Mapping[Asked, Known]:
        brands = list({each.brand for each in asked})
        async with self._database.connection() as connection:
            erased = await ERASURES.erasure_times(connection, brands)
            sources = await sources_of_brands(connection, brands)
            inquiries = [self._inquiry(each, sources[each.brand]) for each in asked]
            cached = await store.fresh_researches(connection, inquiries)
        return {
            each: Known(erased.get(each.brand), sources[each.brand], inquiry, research_id)
            for each, inquiry, research_id in zip(asked, inquiries, cached, strict=True)
        }

    def _inquiry(self, asked: Asked, sources: Sources) -> store.Inquiry:
        return store.Inquiry(
            brand_slug=asked.brand,
            keyword=asked.keyword,
            provider=self._provider.name(sources),
            looked_in=sources.fingerprint,
            not_before=asked.not_before,
        )

    async def _tell(self, message: DomainMessage[ResearchRequested], wait: WaitFor) -> None:
        async with self._database.transaction() as tx:
            until = await store.note_wait(tx.connection, message.event_id, wait.dependency, wait.after)
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

    async def _outcome(
        self, message: DomainMessage[ResearchRequested], context: Context, known: Known
    ) -> store.ResearchId | store.NewResearch | Insufficient:
        request = message.payload
        if known.research_id is not None:
            log.info(
                "research_reused",
                brand=request.brand_slug,
                keyword=request.keyword,
                research_id=str(known.research_id),
            )
            return known.research_id
        wanted = Wanted(
            request.keyword,
            request.brand_slug,
            known.sources,
            command=message.event_id,
            patient=context.attempt < PATIENT_ATTEMPTS,
            alone=context.alone,
        )
        findings = await self._provider.search(wanted)
        match findings:
            case Insufficient():
                log.info(
                    "research_refused",
                    brand=request.brand_slug,
                    keyword=request.keyword,
                    reason=findings.reason,
                )
                return findings
            case Found():
                log.info(
                    "research_done",
                    brand=request.brand_slug,
                    keyword=request.keyword,
                    sources=len(findings.sources),
                    left_out=findings.left_out,
                    attempt=context.attempt,
                )
                return store.NewResearch(
                    known.inquiry,
                    priority=request.priority,
                    sources=findings.sources,
                    cached=timedelta(0) if findings.is_preliminary else CACHE_PERIOD,
                    left_out=findings.left_out,
                )


async def write(tx: Transaction, ends: Sequence[Ended]) -> None:
    """Stores how commands end, and answers them. Nothing of one that comes too late is kept."""
    await store.forget_commands(tx.connection, [end.message.event_id for end in ends])
    # Searching takes a while, in which a brand may have been erased.
    erased = await ERASURES.erasure_times(tx.connection, {end.message.payload.brand_slug for end in ends})
    kept = [end for end in ends if not _is_late(end.message, erased)]
    new = [end.outcome for end in kept if isinstance(end.outcome, store.NewResearch)]
    stored = iter(await store.save_researches(tx.connection, new))
    for end in kept:
        request = end.message.payload
        match end.outcome:
            case None:
                continue
            case Insufficient() as refusal:
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


def _failed(request: ResearchRequested, refusal: Insufficient) -> ResearchFailed:
    return ResearchFailed(
        brand_slug=request.brand_slug,
        keyword=request.keyword,
        reason=refusal.reason,
        detail=refusal.detail,
    )
