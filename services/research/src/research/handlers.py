"""`research.requested` → search → rows and `research.completed` or `research.failed`; and `research.waiting` where it has to wait."""

from datetime import timedelta

import structlog

from chassis import Connection, redaction
from envelope import DomainMessage
from envelope.brand.payloads import ResearchCompleted, ResearchFailed, ResearchRequested, ResearchWaiting
from messaging import Context, Database, Record, Transaction, WaitFor
from messaging.erasure import comes_too_late
from research import store
from research.clients.provider import Provider, Wanted
from research.domain import CACHE_PERIOD, Found, Insufficient
from research.erasure import ERASURES
from research.reading.cleaning import one_line
from research.sources.domain import Sources
from research.sources.store import sources_of

log = structlog.get_logger(__name__)

PATIENT_ATTEMPTS = 3
"""From this attempt on, what can be read now has to do."""
MAX_DETAIL = 1_000
"""Characters of why it waits that are told."""


class Handlers:
    def __init__(self, database: Database, provider: Provider) -> None:
        self._database = database
        self._provider = provider

    async def research_requested(self, message: DomainMessage[ResearchRequested], context: Context) -> Record:
        """Answer from the cache or search; the search runs with no transaction open.

        Raises:
            WaitFor, RetryLater, Unprocessable: as of `Provider.search`; who asked is told of a wait that is worth a word.
        """
        async with self._database.connection() as connection:
            if await _is_late(message, connection):
                return _forgotten(message)
        try:
            answer = await self._answer(message, context)
        except WaitFor as wait:
            await self._tell(message, wait)
            raise

        async def record(tx: Transaction) -> None:
            await store.forget_command(tx.connection, message.event_id)
            # Searching takes a while, in which the brand may have been erased.
            if not await _is_late(message, tx.connection):
                await answer(tx)

        return record

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

    async def _answer(self, message: DomainMessage[ResearchRequested], context: Context) -> Record:
        request = message.payload
        async with self._database.connection() as connection:
            sources = await sources_of(connection, request.brand_slug)
            cached = await store.fresh_research(
                connection,
                request.brand_slug,
                request.keyword,
                self._provider.name(sources),
                sources.fingerprint,
                not_before=request.not_before,
            )
        if cached is not None:
            log.info(
                "research_reused", brand=request.brand_slug, keyword=request.keyword, research_id=str(cached)
            )
            return _completed(message, cached)
        wanted = Wanted(
            request.keyword,
            request.brand_slug,
            sources,
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
                return _failed(message, findings)
            case Found():
                log.info(
                    "research_done",
                    brand=request.brand_slug,
                    keyword=request.keyword,
                    sources=len(findings.sources),
                    left_out=findings.left_out,
                    attempt=context.attempt,
                )
                return self._found(message, findings, sources)

    def _found(self, message: DomainMessage[ResearchRequested], findings: Found, sources: Sources) -> Record:
        request = message.payload

        async def record(tx: Transaction) -> None:
            research_id = await store.save_research(
                tx.connection,
                brand_slug=request.brand_slug,
                keyword=request.keyword,
                priority=request.priority,
                provider=self._provider.name(sources),
                looked_in=sources.fingerprint,
                sources=findings.sources,
                cached=timedelta(0) if findings.is_preliminary else CACHE_PERIOD,
                left_out=findings.left_out,
                not_before=request.not_before,
            )
            await _completed(message, research_id)(tx)

        return record


async def _is_late(message: DomainMessage[ResearchRequested], connection: Connection) -> bool:
    brand = message.payload.brand_slug
    return comes_too_late(brand, message.timestamp, await ERASURES.erased(connection, [brand]))


def _forgotten(message: DomainMessage[ResearchRequested]) -> Record:
    """Nothing of a command that comes too late is kept."""

    async def record(tx: Transaction) -> None:
        await store.forget_command(tx.connection, message.event_id)

    return record


def _completed(message: DomainMessage[ResearchRequested], research_id: store.ResearchId) -> Record:
    request = message.payload

    async def record(tx: Transaction) -> None:
        tx.send(
            ResearchCompleted(
                brand_slug=request.brand_slug, research_id=research_id, keyword=request.keyword
            ),
            caused_by=message,
        )

    return record


def _failed(message: DomainMessage[ResearchRequested], refusal: Insufficient) -> Record:
    request = message.payload

    async def record(tx: Transaction) -> None:
        tx.send(
            ResearchFailed(
                brand_slug=request.brand_slug,
                keyword=request.keyword,
                reason=refusal.reason,
                detail=refusal.detail,
            ),
            caused_by=message,
        )

    return record
