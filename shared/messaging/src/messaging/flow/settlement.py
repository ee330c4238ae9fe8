"""One transaction over a batch: inbox rows first, then effects, then what follows from failures, then the outbox."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from random import uniform
from time import perf_counter
from typing import Any, Final, assert_never
from uuid import UUID

import structlog
from opentelemetry.trace import INVALID_SPAN

from chassis.observing import traces
from chassis.observing.traces import TraceHeaders
from envelope import DeadLetterResolved
from messaging import fail_points
from messaging import headers as header
from messaging.flow import replays
from messaging.flow.dead_letters import DeadLetter, fact_headers
from messaging.flow.failures import Failure, failure_headers
from messaging.flow.handlers import OnBatch, OnEach, Together
from messaging.flow.intake import Work, utc_now
from messaging.flow.policy import QueuePolicy
from messaging.flow.transactions import Database, Transaction, attempt_headers
from messaging.observing import spans
from messaging.observing.counting import QueueCounts
from messaging.storage import crashes, inbox, outbox
from messaging.storage.outbox import OutboxRow

LONGEST_WAIT: Final = 1.25
"""Times its pause: messages that wait for something do not come back all at the same moment, as one probe is enough."""
_CARRIED = (header.FAILURE_FIRST_AT, header.FAILURE_LAST_AT, header.FAILURE_TYPE, header.FAILURE_MESSAGE)

log = structlog.get_logger(__name__)
_stdlib_log = logging.getLogger(__name__)


class Settlement:
    """Gives messages of one queue their outcomes in the database."""

    def __init__(self, database: Database, service: str, queue: str, policy: QueuePolicy) -> None:
        self._database = database
        self._service = service
        self._queue = queue
        self._policy = policy
        self._tells_of_replays = database.catalogue.recorder is not None
        self.counts = QueueCounts()

    async def commit(self, batch: Sequence[Work]) -> None:
        """Settles the batch in one transaction, or raises and leaves no trace.

        Within it: every message with a final outcome claims its inbox row, and those that get none are duplicates;
        handlers run over the fresh ones; failed ones become rows for later or dead letters.
        """
        trace_headers = {
            work.event_id: traces.headers_of(work.span)
            for work in batch
            if work.span is not INVALID_SPAN and work.span.get_span_context().is_valid
        }
        with spans.batch_span(self._queue, [work.span for work in batch] if trace_headers else ()):
            async with self._database.transaction(trace_headers) as tx:
                fresh = await self._claim(tx, batch)
                for work in await replays.lock_origins(tx.connection, fresh):
                    tx.failures[work.event_id] = replays.came_too_late(work)
                if fail_points.ARMED:
                    fail_points.reach("settlement.claimed")
                await self._run_handlers(tx, fresh)
                if fail_points.ARMED:
                    fail_points.reach("settlement.effects")
                late = [work for work in fresh if work.event_id in tx.failures] if tx.failures else []
                for work in late:
                    work.failure = tx.failures[work.event_id]
                await self._correct_inbox(tx, late)
                settled = self._settled(batch, fresh)
                for work in settled:
                    self._follow_up(tx, work, trace_headers)
                await self._note_replays(tx, settled)
                marked = [work.event_id for work in batch if work.marked]
                if marked:
                    await crashes.clear(tx.connection, self._queue, marked)
        self._tell(batch, settled)

    def _retries(self, work: Work) -> bool:
        return work.failure is not None and not self._dies(work)

    def _dies(self, work: Work) -> bool:
        failure = work.failure
        if failure is None or failure.waits_for:
            return False
        return failure.permanent or self._policy.exhausted(work.attempt)

    async def _claim(self, tx: Transaction, batch: Sequence[Work]) -> list[Work]:
        final = [work for work in batch if not self._retries(work)]
        if not final:
            return []
        rows = [
            inbox.InboxRow(work.event_id, work.type, "dead" if work.failure else "handled") for work in final
        ]
        claimed = await inbox.insert(tx.connection, self._queue, rows)
        if len(claimed) == len(final):
            return final
        fresh: list[Work] = []
        for work in final:
            # The first of several copies in one batch takes the place; the others are duplicates.
            if work.event_id in claimed:
                claimed.discard(work.event_id)
                fresh.append(work)
        return fresh

    async def _run_handlers(self, tx: Transaction, fresh: Sequence[Work]) -> None:
        groups: dict[int, tuple[OnBatch, list[Work]]] = {}
        together: dict[Callable[[Transaction, Sequence[Any]], Awaitable[None]], list[Any]] = {}
        for work in fresh:
            if work.failure is not None or work.message is None or work.event_id in tx.failures:
                continue
            match work.handler:
                case OnBatch() as handler:
                    groups.setdefault(id(handler), (handler, []))[1].append(work)
                case OnEach():
                    if isinstance(work.record, Together):
                        together.setdefault(work.record.write, []).append(work.record.row)
                    elif work.record is not None:
                        with traces.activated(work.span):
                            await work.record(tx)
                case None:
                    raise AssertionError("a message without failure has a handler")
                case _:
                    assert_never(work.handler)
        for write, rows in together.items():
            await write(tx, rows)
        for handler, works in groups.values():
            began = perf_counter()
            try:
                await handler.handler([work.message for work in works if work.message is not None], tx)
            finally:
                self.counts.note_call({work.type for work in works}, perf_counter() - began)

    async def _correct_inbox(self, tx: Transaction, late: Sequence[Work]) -> None:
        """Handlers may fail single messages after the fact; their inbox rows must say so."""
        dead = [work.event_id for work in late if self._dies(work)]
        again = [work.event_id for work in late if not self._dies(work)]
        if dead:
            await inbox.mark_dead(tx.connection, dead)
        if again:
            await inbox.release(tx.connection, again)

    async def _note_replays(self, tx: Transaction, settled: Sequence[Work]) -> None:
        """Writes down what dies here, so that its replay is known, and which replays have settled what they stand for."""
        dead = [work for work in settled if self._dies(work)]
        final = [work for work in settled if work.failure is None or self._dies(work)]
        if dead or any(work.replay_of is not None for work in final):
            await replays.note_outcomes(tx.connection, dead, final)

    def _settled(self, batch: Sequence[Work], fresh: Sequence[Work]) -> Sequence[Work]:
        """Those to which this transaction gives an outcome, one for each message."""
        again = [work for work in batch if self._retries(work)]
        if not again:
            return fresh
        return list({work.event_id: work for work in (*again, *fresh)}.values())

    def _follow_up(self, tx: Transaction, work: Work, trace_headers: dict[UUID, TraceHeaders]) -> None:
        """What an outcome sends: a retry, a dead letter, or word that a replay was handled."""
        failure = work.failure
        if failure is None:
            if self._tells_of_replays and work.replay_of is not None and work.message is not None:
                resolved = DeadLetterResolved(
                    dead_event_id=work.replay_of, replay_event_id=work.event_id, queue=self._queue
                )
                tx.send(resolved, caused_by=work.message)
            return
        trace = trace_headers.get(work.event_id, {})
        if failure.waits_for:
            tx.outgoing.append(self._set_aside(work, failure, trace))
            return
        now = utc_now()
        facts = failure_headers(
            failure,
            attempts=work.attempt,
            first_failed_at=work.first_failed_at or now,
            failed_at=now,
            service=self._service,
            queue=self._queue,
        )
        if self._dies(work):
            headers = {**facts, **attempt_headers(work.attempt, work.replay_of, trace)}
            tx.outgoing.append(outbox.dead_letter(work.row(), self._queue, headers=headers))
            return
        delay = self._delay(work)
        # A retry carries when it first failed and why it failed last, not a verdict.
        carried = {name: facts[name] for name in _CARRIED}
        if work.message is not None and isinstance(work.message.payload, DeadLetter):
            carried = fact_headers(work.message.payload)
        headers = {**carried, **attempt_headers(work.attempt + 1, work.replay_of, trace)}
        tx.outgoing.append(outbox.returning(work.row(), self._queue, headers=headers, delay=delay))

    def _set_aside(self, work: Work, failure: Failure, trace: TraceHeaders) -> OutboxRow:
        """The same message again, as the same attempt."""
        pause = timedelta()
        if not failure.at_once:
            pause = max(self._policy.wait(work.waits), failure.after or timedelta())
        carried: dict[str, str | int] = {
            name: value
            for name in _CARRIED
            if (value := header.text(work.delivery.headers, name)) is not None
        }
        if work.message is not None and isinstance(work.message.payload, DeadLetter):
            carried = fact_headers(work.message.payload)
        headers = {
            **carried,
            **attempt_headers(work.attempt, work.replay_of, trace),
            header.WAITS: work.waits + (not failure.at_once),
        }
        delay = pause * uniform(1.0, LONGEST_WAIT)  # noqa: S311
        return outbox.returning(work.row(), self._queue, headers=headers, delay=delay)

    def _delay(self, work: Work) -> timedelta:
        assert work.failure is not None
        return self._policy.backoff(work.attempt) if work.failure.after is None else work.failure.after

    def _tell(self, batch: Sequence[Work], settled: Sequence[Work]) -> None:
        settled_now = set(settled)
        ended = [work for work in batch if work in settled_now]
        if duplicates := len(batch) - len(ended):
            self.counts.duplicates += duplicates
            log.info("duplicates_ignored", queue=self._queue, count=duplicates)
        for work in ended:
            if work.failure is not None:
                with traces.activated(work.span):
                    self._tell_failure(work)
        handled = [work for work in ended if work.failure is None]
        now = utc_now()
        self.counts.batch_sizes.add((len(batch),))
        self.counts.note_processed([work.message for work in handled if work.message is not None], now)
        if _stdlib_log.isEnabledFor(logging.DEBUG):
            for work in handled:
                with traces.activated(work.span):
                    log.debug("message_handled", processing_delay_ms=work.delay_ms(now), **self._facts(work))
        for work in batch:
            if work.span is not INVALID_SPAN:
                traces.end_span(work.span)

    def _facts(self, work: Work) -> dict[str, object]:
        return {
            "event_id": str(work.event_id),
            "type": work.type,
            "correlation_id": work.correlation_id,
            "attempt": work.attempt,
            "queue": self._queue,
        }

    def _tell_failure(self, work: Work) -> None:
        failure = work.failure
        assert failure is not None
        traces.fail_span(work.span, failure.exception_type, failure.message, failure.stack)
        if failure.waits_for:
            self.counts.set_aside[work.type] += 1
            log.debug(
                "message_waits", dependency=failure.waits_for, waits=work.waits + 1, **self._facts(work)
            )
            return
        facts = {**self._facts(work), "exception_type": failure.exception_type, "error": failure.message}
        if self._dies(work):
            self.counts.dead_lettered[failure.reason.value] += 1
            log.error("message_dead_lettered", reason=failure.reason.value, stack=failure.stack, **facts)
        else:
            self.counts.retried[work.type] += 1
            log.warning("attempt_failed", retry_seconds=self._delay(work).total_seconds(), **facts)
