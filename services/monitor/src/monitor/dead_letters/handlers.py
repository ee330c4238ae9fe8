"""Handlers for dead letters and for reports of handled replays; each step is one statement for the whole batch."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import structlog
from pydantic import TypeAdapter, ValidationError

from envelope import DeadLetterResolved, DomainMessage, EnvelopeHead
from envelope.brand import CATALOGUE
from envelope.brand.payloads import BrandSlug, DeadLetterRecorded, Keyword
from envelope.brand.work import work_ids_in
from envelope.message import Name
from messaging import DeadLetter, Reason, Transaction
from messaging.erasure import is_of_erased_brand
from monitor.dead_letters import store
from monitor.dead_letters.domain import (
    DeadLetterSnapshot,
    DeadLetterState,
    DeadMessageId,
    InitialState,
    failing_frame,
    initial_state,
    is_announced,
)
from monitor.dead_letters.edits import apply_known_edits
from monitor.dead_letters.finished_work import load_finished, resolution_of, stored_work_ids
from monitor.dead_letters.masking import masked_body
from monitor.dead_letters.message_states import note_removed
from monitor.dead_letters.replays import read_head
from monitor.dead_letters.text_cleaning import clean, clean_json, clean_or_none
from monitor.erased import ERASURES, brand_of

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _MessageWork:
    """The pieces of work that a message was about, and when they were first requested."""

    work_ids: tuple[UUID, ...] = ()
    asked_at: datetime | None = None


_MAX_DETAIL: Final = 2_000
_MAX_INTEGER: Final = 2**31 - 1
_SUBJECT: Final[Mapping[str, TypeAdapter[Any]]] = {
    "brand_slug": TypeAdapter(BrandSlug),
    "keyword": TypeAdapter(Keyword),
    "content_id": TypeAdapter(UUID),
    "target": TypeAdapter(Name),
}


async def record(messages: Sequence[DomainMessage[DeadLetter]], tx: Transaction) -> None:
    """Stores dead letters, and announces each open one once."""
    await store.lock_shared(tx.connection)
    heads = {message.event_id: read_head(message.payload.body) for message in messages}
    messages = await _without_erased_brands(messages, heads, tx)
    event_ids = [m.payload.dead_event_id for m in messages if m.payload.dead_event_id is not None]
    handled = await store.handled_messages(tx.connection, event_ids)
    earlier = await store.earlier_dead_letters(tx.connection, event_ids)
    work = {message.event_id: _work(message, heads[message.event_id], earlier) for message in messages}
    finished = await load_finished(
        tx.connection, {work_id for each in work.values() for work_id in each.work_ids}
    )
    rows: dict[UUID, store.NewDeadLetter] = {}
    for message in messages:
        about = work[message.event_id]
        resolution = (
            None if about.asked_at is None else resolution_of(about.work_ids, about.asked_at, finished)
        )
        beginning = _initial_state(message, handled, earlier, resolution)
        rows[message.event_id] = _row(message, beginning, heads[message.event_id], about)
    fresh = await store.insert(tx.connection, list(rows.values()))
    closed = {
        row.beginning.closes: row.id for row in rows.values() if row.beginning.closes and row.id in fresh
    }
    await store.close_replaced(tx.connection, closed)
    await apply_known_edits(tx.connection, event_ids)
    for message in messages:
        row = rows[message.event_id]
        if row.id in fresh and row.beginning.state is DeadLetterState.OPEN:
            _alert(row)
            if is_announced(row.type):
                head = heads[message.event_id]
                tx.send(
                    _announcement(row, head), caused_by=message, limits=None if head is None else head.limits
                )


async def resolve(messages: Sequence[DomainMessage[DeadLetterResolved]], tx: Transaction) -> None:
    """Resolves the dead letters of handled replays; a report that arrives before its dead letter is kept."""
    notices = [
        message.payload.model_copy(update={"queue": CATALOGUE.name_today(message.payload.queue)})
        for message in messages
    ]
    await store.lock_exclusive(tx.connection)
    await store.record_handled(tx.connection, notices)
    await store.resolve_handled(tx.connection, [notice.replay_event_id for notice in notices])


async def _without_erased_brands(
    messages: Sequence[DomainMessage[DeadLetter]],
    heads: Mapping[UUID, EnvelopeHead | None],
    tx: Transaction,
) -> list[DomainMessage[DeadLetter]]:
    """The messages to record: all but those that were sent before the erasure of their brand."""
    brands = {brand for head in heads.values() if (brand := brand_of(head)) is not None}
    known = await ERASURES.erasure_times(tx.connection, brands) if brands else {}
    kept = [
        message
        for message in messages
        if (head := heads[message.event_id]) is None
        or (brand := brand_of(head)) is None
        or not is_of_erased_brand(brand, head.timestamp, known)
    ]
    if len(kept) < len(messages):
        still = {message.event_id for message in kept}
        await note_removed(
            tx.connection,
            (
                (message.payload.dead_event_id, message.payload.queue)
                for message in messages
                if message.event_id not in still
            ),
        )
    return kept


def _initial_state(
    message: DomainMessage[DeadLetter],
    handled: Mapping[tuple[UUID, str], UUID],
    earlier: Mapping[tuple[UUID, str], DeadLetterSnapshot],
    finished: str | None,
) -> InitialState:
    letter = message.payload
    if letter.dead_event_id is None:
        return initial_state(handled_as=None, earlier=None)
    key = (letter.dead_event_id, letter.queue)
    return initial_state(handled_as=handled.get(key), earlier=earlier.get(key), finished=finished)


def _work(
    message: DomainMessage[DeadLetter],
    head: EnvelopeHead | None,
    earlier: Mapping[tuple[UUID, str], DeadLetterSnapshot],
) -> _MessageWork:
    """The work of a message. A replay keeps the request time of the first message in its chain of replays."""
    letter = message.payload
    if head is None or not _is_subject_trusted(letter.message_type, letter.queue, letter.reason):
        return _MessageWork()
    before = None if letter.dead_event_id is None else earlier.get((letter.dead_event_id, letter.queue))
    try:
        asked_at = (
            head.timestamp.astimezone(UTC) if before is None or before.asked_at is None else before.asked_at
        )
    except (
        OverflowError
    ):  # Year 1 or 9999, moved out of range by its zone: no service sends that, and no column holds it.
        return _MessageWork()
    return _MessageWork(tuple(stored_work_ids(head)), asked_at)


def _row(
    message: DomainMessage[DeadLetter], beginning: InitialState, head: EnvelopeHead | None, work: _MessageWork
) -> store.NewDeadLetter:
    letter = message.payload
    stack = clean_or_none(letter.stack)
    return store.NewDeadLetter(
        id=DeadMessageId(message.event_id),
        event_id=letter.dead_event_id,
        queue=letter.queue,
        type=clean_or_none(letter.message_type),
        source=clean_or_none(letter.source),
        correlation_id=clean_or_none(letter.correlation_id),
        payload=letter.body,
        headers=clean_json(letter.headers),
        reason=letter.reason.value,
        exception_type=clean_or_none(letter.exception_type),
        detail=clean(letter.detail),
        stack=stack,
        frame=failing_frame(stack),
        attempts=min(letter.attempts, _MAX_INTEGER),
        service=clean_or_none(letter.service),
        first_failed_at=letter.first_failed_at,
        failed_at=letter.failed_at,
        replayable=head is not None,
        beginning=beginning,
        brand=None if letter.reason is Reason.FALSE_CLAIM else _brand(head),
        work_ids=work.work_ids,
        asked_at=work.asked_at,
        code=letter.code,
        version=clean_or_none(letter.version),
        masked=masked_body(letter.body),
    )


def _alert(row: store.NewDeadLetter) -> None:
    log.error(
        "dead_letter_recorded",
        dead_letter_id=str(row.id),
        dead_event_id=str(row.event_id) if row.event_id else None,
        queue=row.queue,
        type=row.type,
        source=row.source,
        correlation_id=row.correlation_id,
        reason=row.reason,
        exception_type=row.exception_type,
        detail=row.detail[:_MAX_DETAIL],
        frame=row.frame,
        attempts=row.attempts,
        failing_service=row.service,
        first_failed_at=row.first_failed_at.isoformat() if row.first_failed_at else None,
        failed_at=row.failed_at.isoformat(),
        replayable=row.replayable,
        replay_of=str(row.beginning.replay_of) if row.beginning.replay_of else None,
    )


def _announcement(row: store.NewDeadLetter, head: EnvelopeHead | None) -> DeadLetterRecorded:
    believed = head if _is_subject_trusted(row.type, row.queue, row.reason) else None
    # A body that is not an envelope has no event_id; the id of the dead letter replaces it.
    return DeadLetterRecorded(
        dead_event_id=row.event_id or row.id,
        queue=row.queue,
        message_type=row.type,
        reason=row.reason,
        detail=row.detail[:_MAX_DETAIL],
        work_ids=()
        if believed is None
        else work_ids_in(believed.type, believed.payload, believed.correlation_id),
        **_subject(believed),
    )


def _brand(head: EnvelopeHead | None) -> str | None:
    """The slug of the message's brand; None if the payload names none or an invalid one."""
    brand = _subject(head).get("brand_slug")
    return None if brand is None else str(brand)


def _is_subject_trusted(message_type: str | None, queue: str, reason: str) -> bool:
    """Whether the payload's subject counts: the sender was allowed to send it, and to this queue."""
    entry = CATALOGUE.get(message_type or "")
    return reason != Reason.FALSE_CLAIM and (entry is None or entry.queue == queue)


def _subject(head: EnvelopeHead | None) -> dict[str, Any]:
    """The valid ones among the payload's `brand_slug`, `keyword`, `content_id` and `target`."""
    subject: dict[str, Any] = {}
    for name, adapter in _SUBJECT.items():
        value = None if head is None else head.payload.get(name)
        if value is not None:
            with suppress(ValidationError):
                subject[name] = adapter.validate_python(value)
    return subject
