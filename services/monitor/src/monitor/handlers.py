"""Recording dead letters, and closing those whose replay was handled."""

from collections.abc import Sequence

import structlog

from envelope import DomainMessage
from envelope.payloads import DeadLetterRecorded, DeadLetterResolved
from messaging import DeadLetter, Transaction
from monitor import store
from monitor.domain import subject_of

log = structlog.get_logger(__name__)

_OWN_EVENT = "dead_letter.recorded"
_MAX_DETAIL = 2000


async def record(messages: Sequence[DomainMessage[DeadLetter]], tx: Transaction) -> None:
    """Writes dead letters down, alerts, and tells the others."""
    await store.insert(tx.connection, [(message.event_id, message.payload) for message in messages])
    replays = [message.payload.dead_event_id for message in messages if message.payload.replay_of is not None]
    if replays:
        await store.supersede(tx.connection, [event_id for event_id in replays if event_id is not None])
    for message in messages:
        letter = message.payload
        _alert(message)
        # An announcement that dies is not announced again, or the two would chase each other for ever.
        if letter.message_type != _OWN_EVENT:
            tx.send(_announcement(message), correlation_id=letter.correlation_id)


async def resolved(messages: Sequence[DomainMessage[DeadLetterResolved]], tx: Transaction) -> None:
    """Closes dead letters whose replay has been handled by its consumer."""
    await store.resolve(tx.connection, [message.payload.replay_event_id for message in messages])
    for message in messages:
        log.info(
            "dead_letter_resolved", event_id=str(message.payload.dead_event_id), queue=message.payload.queue
        )


def _announcement(message: DomainMessage[DeadLetter]) -> DeadLetterRecorded:
    letter = message.payload
    subject = subject_of(letter.body)
    return DeadLetterRecorded(
        dead_event_id=letter.dead_event_id or message.event_id,
        queue=letter.queue,
        message_type=letter.message_type,
        reason=letter.reason.value,
        detail=letter.detail[:_MAX_DETAIL],
        brand_slug=subject.brand_slug,
        keyword=subject.keyword,
        content_id=subject.content_id,
    )


def _alert(message: DomainMessage[DeadLetter]) -> None:
    letter = message.payload
    log.error(
        "dead_letter_recorded",
        id=str(message.event_id),
        event_id=str(letter.dead_event_id) if letter.dead_event_id else None,
        type=letter.message_type,
        queue=letter.queue,
        correlation_id=letter.correlation_id,
        reason=letter.reason.value,
        detail=letter.detail,
        attempts=letter.attempts,
        failed_in=letter.service,
    )
