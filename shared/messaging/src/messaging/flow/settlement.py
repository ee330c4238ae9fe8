"""Settles a batch in one transaction: inbox rows first, then effects, then retries and dead letters, then the outbox."""

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
from messaging.flow.deadlines import Deadlines
from messaging.flow.failures import Failure, failure_headers
from messaging.flow.handlers import GroupedRecord, OnBatch, OnEach
from messaging.flow.intake import IncomingMessage, utc_now
from messaging.flow.policy import QueuePolicy
from messaging.flow.transactions import Database, Transaction, attempt_headers
from messaging.observing import spans
from messaging.observing.counting import UNKNOWN, QueueCounts
from messaging.running_code import running_code
from messaging.storage import attempts, crashes, inbox, outbox
from messaging.storage.attempts import AttemptOutcome, EndedAttempt
from messaging.storage.outbox import OutboxRow

LONGEST_WAIT: Final = 1.25
"""Random factor of a wait at most, so that waiting messages do not all return at once: one probe is enough."""
_CARRIED = (header.FAILURE_FIRST_AT, header.FAILURE_LAST_AT, header.FAILURE_TYPE, header.FAILURE_MESSAGE)

log = structlog.get_logger(__name__)
_stdlib_log = logging.getLogger(__name__)


class Settlement:
    """Stores the outcomes of one queue's messages in the database."""

    def __init__(self, database: Database, service: str, queue: str, policy: QueuePolicy) -> None:
        self._database = database
        self._service = service
        self._queue = queue
        self._policy = policy
        self._code = running_code(database.catalogue.system, service)
        self._records_replays = database.catalogue.recorder is not None
        self.deadlines = Deadlines(database.catalogue)
        self.counts = QueueCounts()

    async def commit(self, batch: Sequence[IncomingMessage]) -> None:
        """Settles the batch in one transaction, or raises and changes nothing.

        In it, every message with a final outcome claims its inbox row; a message that gets none is a duplicate. Handlers run over the fresh
        messages; failed ones become outbox rows for a retry or dead letters.
        """
        began = perf_counter()
        trace_headers = {
            incoming.event_id: traces.headers_of(incoming.span)
            for incoming in batch
            if incoming.span is not INVALID_SPAN and incoming.span.get_span_context().is_valid
        }
        self._end_without_time(batch)
        with spans.batch_span(self._queue, [incoming.span for incoming in batch] if trace_headers else ()):
            async with self._database.transaction(trace_headers) as tx:
                fresh = await self._claim(tx, batch)
                for incoming in await replays.lock_origins(tx.connection, fresh):
                    tx.failures[incoming.event_id] = replays.superseded_replay(incoming)
                if fail_points.ARMED:
                    fail_points.reach("settlement.claimed")
                await self._run_handlers(tx, fresh)
                if fail_points.ARMED:
                    fail_points.reach("settlement.effects")
                late = (
                    [incoming for incoming in fresh if incoming.event_id in tx.failures]
                    if tx.failures
                    else []
                )
                for incoming in late:
                    incoming.failure = tx.failures[incoming.event_id]
                self._end_without_time(late)
                await self._correct_inbox(tx, late)
                settled = self._settled(batch, fresh)
                ended: list[EndedAttempt] = []
                for incoming in settled:
                    self._write_follow_up(tx, incoming, trace_headers)
                    if (
                        incoming.failure is not None
                        or incoming.attempt > 1
                        or incoming.waits
                        or incoming.handler_ran is not None
                    ):
                        ended += self._ended_attempt(tx, incoming)
                await self._note_replays(tx, settled)
                marked = [incoming.event_id for incoming in batch if incoming.marked]
                if marked:
                    await crashes.clear(tx.connection, self._queue, marked)
                if ended:
                    # Last: copies of a message in other transactions wait for its row, which no lock after it may hold up.
                    await attempts.note(tx.connection, ended)
        self._report(batch, settled, began)

    def _end_without_time(self, messages: Sequence[IncomingMessage]) -> None:
        """Ends failed messages whose next attempt would begin after their deadline."""
        for incoming in messages:
            if incoming.failure is None or not self._is_retried(incoming):
                continue
            pause = (
                self._pause(incoming, incoming.failure)
                if incoming.failure.waits_for
                else self._delay(incoming)
            )
            incoming.failure = (
                self.deadlines.instead_of_retry(incoming, utc_now() + pause) or incoming.failure
            )

    def _is_retried(self, incoming: IncomingMessage) -> bool:
        return incoming.failure is not None and not self._is_dead(incoming)

    def _is_dead(self, incoming: IncomingMessage) -> bool:
        failure = incoming.failure
        if failure is None or failure.waits_for:
            return False
        return failure.permanent or self._policy.exhausted(incoming.attempt)

    async def _claim(self, tx: Transaction, batch: Sequence[IncomingMessage]) -> list[IncomingMessage]:
        final = [incoming for incoming in batch if not self._is_retried(incoming)]
        if not final:
            return []
        rows = [
            inbox.InboxRow(
                incoming.event_id,
                incoming.type,
                "dead" if incoming.failure else "handled",
                incoming.correlation_id,
                incoming.caused_by,
            )
            for incoming in final
        ]
        claimed = await inbox.insert(tx.connection, self._queue, rows)
        if len(claimed) == len(final):
            return final
        fresh: list[IncomingMessage] = []
        for incoming in final:
            # The first of several copies in one batch takes the place; the others are duplicates.
            if incoming.event_id in claimed:
                claimed.discard(incoming.event_id)
                fresh.append(incoming)
        return fresh

    async def _run_handlers(self, tx: Transaction, fresh: Sequence[IncomingMessage]) -> None:
        groups: dict[int, tuple[OnBatch, list[IncomingMessage]]] = {}
        together: dict[Callable[[Transaction, Sequence[Any]], Awaitable[None]], list[Any]] = {}
        for incoming in fresh:
            if incoming.failure is not None or incoming.message is None or incoming.event_id in tx.failures:
                continue
            match incoming.handler:
                case OnBatch() as handler:
                    groups.setdefault(id(handler), (handler, []))[1].append(incoming)
                case OnEach():
                    if isinstance(incoming.record, GroupedRecord):
                        together.setdefault(incoming.record.write, []).append(incoming.record.row)
                    elif incoming.record is not None:
                        with traces.activated(incoming.span):
                            await incoming.record(tx)
                case None:
                    raise AssertionError("a message without failure has a handler")
                case _:
                    assert_never(incoming.handler)
        for write, rows in together.items():
            await write(tx, rows)
        for handler, messages in groups.values():
            began = perf_counter()
            try:
                await handler.handler(
                    [incoming.message for incoming in messages if incoming.message is not None], tx
                )
            finally:
                self.counts.note_call({incoming.type for incoming in messages}, perf_counter() - began)

    async def _correct_inbox(self, tx: Transaction, late: Sequence[IncomingMessage]) -> None:
        """Corrects the inbox rows of messages that a batch handler failed one by one."""
        dead = [incoming.event_id for incoming in late if self._is_dead(incoming)]
        again = [incoming.event_id for incoming in late if not self._is_dead(incoming)]
        if dead:
            await inbox.mark_dead(tx.connection, dead)
        if again:
            await inbox.release(tx.connection, again)

    def _ended_attempt(self, tx: Transaction, incoming: IncomingMessage) -> Sequence[EndedAttempt]:
        """The attempt as it is written down; nothing for a short one that succeeded at once."""
        worked, ended_ago = None, timedelta()
        if incoming.handler_ran is not None:
            began, ended = incoming.handler_ran
            worked, ended_ago = timedelta(seconds=ended - began), timedelta(seconds=perf_counter() - ended)
        failure = incoming.failure
        if failure is None:
            if incoming.attempt == 1 and not incoming.waits and (worked is None or worked < attempts.LONG):
                return ()
            return (EndedAttempt(incoming.event_id, incoming.attempt, "handled", worked, ended_ago),)
        outcome: AttemptOutcome = (
            "dead" if self._is_dead(incoming) else "waiting" if failure.waits_for else "retried"
        )
        # Its follow-up is the last row: the retry with its delay, or the dead letter.
        delay = None if outcome == "dead" else tx.outgoing[-1].delay
        reason = failure.waits_for or failure.exception_type
        return (EndedAttempt(incoming.event_id, incoming.attempt, outcome, worked, ended_ago, reason, delay),)

    async def _note_replays(self, tx: Transaction, settled: Sequence[IncomingMessage]) -> None:
        """Records dead messages, so that their replays are accepted, and the dead letters that replays have settled."""
        dead = [incoming for incoming in settled if self._is_dead(incoming)]
        final = [incoming for incoming in settled if incoming.failure is None or self._is_dead(incoming)]
        if dead or any(incoming.replay_of is not None for incoming in final):
            await replays.note_outcomes(tx.connection, dead, final)

    def _settled(
        self, batch: Sequence[IncomingMessage], fresh: Sequence[IncomingMessage]
    ) -> Sequence[IncomingMessage]:
        """Those to which this transaction gives an outcome, one for each message."""
        again = [incoming for incoming in batch if self._is_retried(incoming)]
        if not again:
            return fresh
        return list({incoming.event_id: incoming for incoming in (*again, *fresh)}.values())

    def _write_follow_up(
        self, tx: Transaction, incoming: IncomingMessage, trace_headers: dict[UUID, TraceHeaders]
    ) -> None:
        """Adds the rows that follow from an outcome: a retry, a dead letter, or the event that a replay was handled."""
        failure = incoming.failure
        if failure is None:
            if self._records_replays and incoming.replay_of is not None and incoming.message is not None:
                resolved = DeadLetterResolved(
                    dead_event_id=incoming.replay_of, replay_event_id=incoming.event_id, queue=self._queue
                )
                tx.send(resolved, caused_by=incoming.message)
            return
        trace = trace_headers.get(incoming.event_id, {})
        if failure.waits_for:
            tx.outgoing.append(self._waiting_row(incoming, failure, trace))
            return
        now = utc_now()
        facts = failure_headers(
            failure,
            attempts=incoming.attempt,
            first_failed_at=incoming.first_failed_at or now,
            failed_at=now,
            service=self._service,
            queue=self._queue,
            code=self._code,
        )
        if self._is_dead(incoming):
            headers = {**facts, **attempt_headers(incoming.attempt, incoming.replay_of, trace)}
            tx.outgoing.append(outbox.dead_letter_row(incoming.row(), self._queue, headers=headers))
            return
        delay = self._delay(incoming)
        # A retry carries when it first failed and why it failed last, not a verdict.
        carried = {name: facts[name] for name in _CARRIED}
        if incoming.message is not None and isinstance(incoming.message.payload, DeadLetter):
            carried = fact_headers(incoming.message.payload)
        headers = {**carried, **attempt_headers(incoming.attempt + 1, incoming.replay_of, trace)}
        tx.outgoing.append(outbox.retry_row(incoming.row(), self._queue, headers=headers, delay=delay))

    def _waiting_row(self, incoming: IncomingMessage, failure: Failure, trace: TraceHeaders) -> OutboxRow:
        """The row that returns the message as the same attempt."""
        carried: dict[str, str | int] = {
            name: value
            for name in _CARRIED
            if (value := header.text(incoming.delivery.headers, name)) is not None
        }
        if incoming.message is not None and isinstance(incoming.message.payload, DeadLetter):
            carried = fact_headers(incoming.message.payload)
        headers = {
            **carried,
            **attempt_headers(incoming.attempt, incoming.replay_of, trace),
            header.WAITS: incoming.waits + (not failure.at_once),
            header.WAITS_FOR: failure.waits_for,
        }
        delay = self._pause(incoming, failure) * uniform(1.0, LONGEST_WAIT)  # noqa: S311
        return outbox.retry_row(incoming.row(), self._queue, headers=headers, delay=delay)

    def _pause(self, incoming: IncomingMessage, failure: Failure) -> timedelta:
        """How long a message waits for a dependency, before the random part."""
        if failure.at_once:
            return timedelta()
        return max(self._policy.wait(incoming.waits), failure.after or timedelta())

    def _delay(self, incoming: IncomingMessage) -> timedelta:
        assert incoming.failure is not None
        return (
            self._policy.backoff(incoming.attempt)
            if incoming.failure.after is None
            else incoming.failure.after
        )

    def _report(
        self, batch: Sequence[IncomingMessage], settled: Sequence[IncomingMessage], began: float
    ) -> None:
        settled_now = set(settled)
        ended = [incoming for incoming in batch if incoming in settled_now]
        if duplicates := len(batch) - len(ended):
            self.counts.duplicates += duplicates
            log.info("duplicates_ignored", queue=self._queue, count=duplicates)
        for incoming in ended:
            if incoming.failure is not None:
                with traces.activated(incoming.span):
                    self._report_failure(incoming)
        handled = [incoming for incoming in ended if incoming.failure is None]
        now = utc_now()
        self.counts.batch_sizes.add((len(batch),))
        ran = perf_counter()
        self.counts.note_processed(
            [incoming.message for incoming in handled if incoming.message is not None],
            [
                ran - (began if incoming.handler_ran is None else incoming.handler_ran[0])
                for incoming in handled
                if incoming.message is not None
            ],
            now,
        )
        if _stdlib_log.isEnabledFor(logging.DEBUG):
            for incoming in handled:
                with traces.activated(incoming.span):
                    log.debug(
                        "message_handled", processing_delay_ms=incoming.delay_ms(now), **self._facts(incoming)
                    )
        for incoming in batch:
            if incoming.span is not INVALID_SPAN:
                traces.end_span(incoming.span)

    def _facts(self, incoming: IncomingMessage) -> dict[str, object]:
        return {
            "event_id": str(incoming.event_id),
            "type": incoming.type,
            "correlation_id": incoming.correlation_id,
            "attempt": incoming.attempt,
            "queue": self._queue,
        }

    def _report_failure(self, incoming: IncomingMessage) -> None:
        failure = incoming.failure
        assert failure is not None
        traces.fail_span(incoming.span, failure.exception_type, failure.message, failure.stack)
        if failure.waits_for:
            self.counts.set_aside[incoming.type] += 1
            log.debug(
                "message_waits",
                dependency=failure.waits_for,
                waits=incoming.waits + 1,
                **self._facts(incoming),
            )
            return
        facts = {**self._facts(incoming), "exception_type": failure.exception_type, "error": failure.message}
        if self._is_dead(incoming):
            self.counts.dead_lettered[failure.reason.value] += 1
            self.counts.dead_types[UNKNOWN if incoming.handler is None else incoming.type] += 1
            log.error("message_dead_lettered", reason=failure.reason.value, stack=failure.stack, **facts)
        else:
            self.counts.retried[incoming.type] += 1
            log.warning("attempt_failed", retry_seconds=self._delay(incoming).total_seconds(), **facts)
