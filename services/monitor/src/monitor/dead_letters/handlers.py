"""What arrives: deaths, and word of replays that were handled. Both set-based: one statement per step for a whole batch."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

import structlog
from pydantic import TypeAdapter, ValidationError

from envelope import DeadLetterResolved, DomainMessage, EnvelopeHead
from envelope.brand import CATALOGUE
from envelope.brand.payloads import BrandSlug, DeadLetterRecorded, Keyword
from envelope.message import Name
from messaging import DeadLetter, Reason, Transaction
from messaging.erasure import comes_too_late
from monitor.dead_letters import store
from monitor.dead_letters.cleaning import clean, clean_json, clean_or_none
from monitor.dead_letters.domain import (
    Beginning,
    DeadMessageId,
    Standing,
    State,
    begin,
    failing_frame,
    is_announced,
)
from monitor.dead_letters.rewriting import read_head
from monitor.erased import ERASURES, brand_of

log = structlog.get_logger(__name__)

_MAX_DETAIL: Final = 2_000
_MAX_INTEGER: Final = 2**31 - 1
_SUBJECT: Final[Mapping[str, TypeAdapter[Any]]] = {
    "brand_slug": TypeAdapter(BrandSlug),
    "keyword": TypeAdapter(Keyword),
    "content_id": TypeAdapter(UUID),
    "target": TypeAdapter(Name),
}


async def record(messages: Sequence[DomainMessage[DeadLetter]], tx: Transaction) -> None:
    """Deaths become rows, and each is announced once."""
    await store.share_order(tx.connection)
    heads = {message.event_id: read_head(message.payload.body) for message in messages}
    messages = await _without_erased_brands(messages, heads, tx)
    event_ids = [m.payload.dead_event_id for m in messages if m.payload.dead_event_id is not None]
    handled = await store.handled_messages(tx.connection, event_ids)
    earlier = await store.replayed_as(tx.connection, event_ids)
    rows: dict[UUID, store.NewDeath] = {}
    for message in messages:
        beginning = _beginning(message, handled, earlier)
        rows[message.event_id] = _row(message, beginning, heads[message.event_id])
    fresh = await store.insert(tx.connection, list(rows.values()))
    closed = {
        row.beginning.closes: row.id for row in rows.values() if row.beginning.closes and row.id in fresh
    }
    await store.close_replaced(tx.connection, closed)
    for message in messages:
        row = rows[message.event_id]
        if row.id in fresh and row.beginning.state is State.OPEN:
            _alert(row)
            if is_announced(row.type):
                tx.send(_announcement(row, heads[message.event_id]), caused_by=message)


async def resolve(messages: Sequence[DomainMessage[DeadLetterResolved]], tx: Transaction) -> None:
    """Replays that were handled settle the deaths they were made for, in whatever order the two arrive."""
    notices = [
        message.payload.model_copy(update={"queue": CATALOGUE.name_today(message.payload.queue)})
        for message in messages
    ]
    await store.take_order(tx.connection)
    await store.note_handled(tx.connection, notices)
    await store.resolve_handled(tx.connection, [notice.replay_event_id for notice in notices])


async def _without_erased_brands(
    messages: Sequence[DomainMessage[DeadLetter]],
    heads: Mapping[UUID, EnvelopeHead | None],
    tx: Transaction,
) -> list[DomainMessage[DeadLetter]]:
    """Those that are to be recorded: of a brand that was erased after a message was sent nothing is kept, however late it dies."""
    brands = {brand for head in heads.values() if (brand := brand_of(head)) is not None}
    known = await ERASURES.erased(tx.connection, brands) if brands else {}
    return [
        message
        for message in messages
        if (head := heads[message.event_id]) is None
        or (brand := brand_of(head)) is None
        or not comes_too_late(brand, head.timestamp, known)
    ]


def _beginning(
    message: DomainMessage[DeadLetter],
    handled: Mapping[tuple[UUID, str], UUID],
    earlier: Mapping[tuple[UUID, str], Standing],
) -> Beginning:
    letter = message.payload
    if letter.dead_event_id is None:
        return begin(handled_as=None, earlier=None)
    key = (letter.dead_event_id, letter.queue)
    return begin(handled_as=handled.get(key), earlier=earlier.get(key))


def _row(
    message: DomainMessage[DeadLetter], beginning: Beginning, head: EnvelopeHead | None
) -> store.NewDeath:
    letter = message.payload
    stack = clean_or_none(letter.stack)
    return store.NewDeath(
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
    )


def _alert(row: store.NewDeath) -> None:
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


def _announcement(row: store.NewDeath, head: EnvelopeHead | None) -> DeadLetterRecorded:
    # What is no envelope has no event_id of its own; its identity in the records stands in.
    return DeadLetterRecorded(
        dead_event_id=row.event_id or row.id,
        queue=row.queue,
        message_type=row.type,
        reason=row.reason,
        detail=row.detail[:_MAX_DETAIL],
        **(_subject(head) if _is_about_what_it_says(row) else {}),
    )


def _brand(head: EnvelopeHead | None) -> str | None:
    """Whose it is, if that is a slug; whoever sent it may have written anything."""
    brand = _subject(head).get("brand_slug")
    return None if brand is None else str(brand)


def _is_about_what_it_says(row: store.NewDeath) -> bool:
    """Whether its death may cost what it names: not if its sender may not say so, or sent it where it was never handled."""
    entry = CATALOGUE.get(row.type or "")
    return row.reason != Reason.FALSE_CLAIM and (entry is None or entry.queue == row.queue)


def _subject(head: EnvelopeHead | None) -> dict[str, Any]:
    """What the message was about, as far as its payload says so in valid terms."""
    subject: dict[str, Any] = {}
    for name, adapter in _SUBJECT.items():
        value = None if head is None else head.payload.get(name)
        if value is not None:
            with suppress(ValidationError):
                subject[name] = adapter.validate_python(value)
    return subject
