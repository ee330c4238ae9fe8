"""Reads messages from a dead-letter queue, whether this library or the broker put them there."""

import json
import re
from datetime import UTC, datetime
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

import structlog
from pydantic import JsonValue, ValidationError

from chassis import redaction
from envelope import MAX_MESSAGE_BYTES, DomainMessage, EnvelopeHead, Message, Payload, new_event_id
from messaging import headers as header
from messaging.flow.codec import BodyDecoder, NotAnEnvelope, describe, describe_too_large, describe_unreadable
from messaging.flow.failures import MAX_MESSAGE_CHARS, MAX_STACK_CHARS
from messaging.headers import Reason

log = structlog.get_logger(__name__)

RECEIVED: Final = "dead_letter.received"
"""The message type that the handler of dead letters takes; it never travels."""

MAX_VERSION_CHARS: Final = 100
_CODE: Final = re.compile(r"[0-9a-f]{16}")

_BROKER_REASONS: Final = {
    "delivery_limit": (
        Reason.DELIVERY_LIMIT,
        "delivered too often without an outcome; its consumer may have crashed on it",
    ),
    "expired": (Reason.EXPIRED, "waited longer than the queue allows"),
}


class DeadLetter(Payload):
    """One dead message and the reason why it died."""

    dead_event_id: UUID | None
    """Its own `event_id`; None if its body is no envelope."""
    queue: str
    """The queue it died in."""
    message_type: str | None
    source: str | None
    correlation_id: str | None
    body: bytes
    headers: dict[str, JsonValue]
    reason: Reason
    exception_type: str | None
    detail: str
    stack: str | None
    attempts: int
    service: str | None
    first_failed_at: datetime | None
    failed_at: datetime
    replay_of: UUID | None
    died_as: str = ""
    """The queue's name at the time, if recorded."""
    code: str | None = None
    """Hash of the source in which it failed, as `messaging.running_code` computes it; None if unknown."""
    version: str | None = None
    """Version of the service in which it failed."""


def decoder(queue: str) -> BodyDecoder:
    """Builds the decoder for the dead letters of `queue`; it accepts any bytes and never fails."""

    def decode(body: bytes, _type: str | None, headers: dict[str, Any]) -> Message:
        letter = read_leniently(body, headers, queue)
        return DomainMessage(
            event_id=_identity(letter),
            type=RECEIVED,
            source=letter.source or "unknown",
            timestamp=letter.failed_at,
            correlation_id=letter.correlation_id,
            payload=letter,
        )

    return decode


def read_leniently(body: bytes, headers: dict[str, Any], queue: str) -> DeadLetter:
    """Reads like `read`, and without headers if a stranger's headers cannot be read."""
    try:
        return read(body, headers, queue)
    except Exception:
        # There is no further queue: without its headers, people can at least see the message.
        log.exception("dead_letter_headers_unreadable", queue=queue)
        return read(body, {}, queue)


def read(body: bytes, headers: dict[str, Any], queue: str) -> DeadLetter:
    """Reads the facts of a dead letter from our own headers, or else from the broker's `x-death`."""
    head: EnvelopeHead | None = None
    unreadable: NotAnEnvelope | None = None
    try:
        head = EnvelopeHead.model_validate_json(body)
    except ValidationError as error:
        unreadable = NotAnEnvelope(describe(error))
    if len(body) > MAX_MESSAGE_BYTES:
        unreadable = NotAnEnvelope(describe_too_large(body), Reason.TOO_LARGE)
    reason, detail = _reason(headers, unreadable)
    return DeadLetter(
        dead_event_id=head.event_id if head else None,
        queue=queue,
        message_type=head.type if head else None,
        source=head.source if head else None,
        correlation_id=head.correlation_id if head else None,
        body=body,
        headers=redaction.anything(_plain(headers)),
        reason=reason,
        exception_type=_bounded(headers, header.FAILURE_TYPE, MAX_MESSAGE_CHARS),
        detail=detail,
        stack=_bounded(headers, header.FAILURE_STACK, MAX_STACK_CHARS + 4),
        attempts=header.integer(headers, header.FAILURE_ATTEMPTS, default=_broker_count(headers)),
        service=_bounded(headers, header.FAILURE_SERVICE, MAX_MESSAGE_CHARS),
        first_failed_at=header.moment(headers, header.FAILURE_FIRST_AT),
        failed_at=header.moment(headers, header.FAILURE_LAST_AT)
        or _broker_time(headers)
        or datetime.now(UTC),
        replay_of=header.identity(headers, header.REPLAY_OF),
        died_as=_bounded(headers, header.FAILURE_QUEUE, MAX_MESSAGE_CHARS) or "",
        code=_code(headers),
        version=_bounded(headers, header.FAILURE_VERSION, MAX_VERSION_CHARS),
    )


def fact_headers(letter: DeadLetter) -> dict[str, str | int]:
    """The facts as headers again, for a dead letter that has to wait before it can be recorded."""
    facts: dict[str, str | int | None] = {
        header.FAILURE_REASON: letter.reason.value,
        header.FAILURE_TYPE: letter.exception_type,
        header.FAILURE_MESSAGE: letter.detail,
        header.FAILURE_STACK: letter.stack,
        header.FAILURE_ATTEMPTS: letter.attempts,
        header.FAILURE_FIRST_AT: letter.first_failed_at.isoformat() if letter.first_failed_at else None,
        header.FAILURE_LAST_AT: letter.failed_at.isoformat(),
        header.FAILURE_SERVICE: letter.service,
        header.FAILURE_QUEUE: letter.died_as or None,
        header.FAILURE_CODE: letter.code,
        header.FAILURE_VERSION: letter.version,
        header.REPLAY_OF: str(letter.replay_of) if letter.replay_of else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _reason(headers: dict[str, Any], unreadable: NotAnEnvelope | None) -> tuple[Reason, str]:
    # Facts only count with a reason: a retry carries some too. A message that the broker dead-lettered has no facts of
    # ours; a stranger may have forged them.
    broker_reason = _last_death(headers).get("reason")
    named = None if broker_reason else header.text(headers, header.FAILURE_REASON)
    if named in {reason.value for reason in Reason}:
        return Reason(named), _bounded(
            headers, header.FAILURE_MESSAGE, MAX_MESSAGE_CHARS
        ) or "no detail given"
    if isinstance(broker_reason, str) and broker_reason in _BROKER_REASONS:
        return _BROKER_REASONS[broker_reason]
    if unreadable is not None:
        return unreadable.reason, describe_unreadable(unreadable)
    # The broker's reasons are a word or two; a forged header may fill a frame.
    told = redaction.text(str(broker_reason))[:MAX_MESSAGE_CHARS] if broker_reason else "no reason given"
    return Reason.PERMANENT, f"dead-lettered by the broker: {told}"


def _bounded(headers: dict[str, Any], name: str, limit: int) -> str | None:
    """The header's text, redacted and cut to `limit`: a stranger's header may fill a frame."""
    value = header.text(headers, name)
    return None if value is None else redaction.text(value)[:limit]


def _code(headers: dict[str, Any]) -> str | None:
    """The hash of the source; None if the header holds anything else, which only a stranger would send."""
    value = header.text(headers, header.FAILURE_CODE) or ""
    return value if _CODE.fullmatch(value) else None


def _last_death(headers: dict[str, Any]) -> dict[str, Any]:
    """The broker's newest `x-death` entry."""
    deaths = headers.get(header.BROKER_DEATHS)
    if isinstance(deaths, list) and deaths and isinstance(deaths[0], dict):
        return deaths[0]
    return {}


def _broker_count(headers: dict[str, Any]) -> int:
    count = _last_death(headers).get("count")
    return count if isinstance(count, int) and count > 0 else 1


def _broker_time(headers: dict[str, Any]) -> datetime | None:
    time = _last_death(headers).get("time")
    if not isinstance(time, datetime):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _identity(letter: DeadLetter) -> UUID:
    """The id of a letter: equal for every delivery of one death, different for a second death of the same message."""
    if letter.dead_event_id is None:
        # Two equal bodies cannot be distinguished. Better to record one twice after a crash than to lose one.
        return new_event_id()
    return uuid5(
        NAMESPACE_URL,
        f"{letter.died_as or letter.queue}/{letter.dead_event_id}/{letter.failed_at.isoformat()}",
    )


def _plain(headers: dict[str, Any]) -> dict[str, JsonValue]:
    """Headers as JSON values; other values become text."""
    plain = json.loads(json.dumps(headers, default=_as_text))
    assert isinstance(plain, dict)
    return plain


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.isoformat() if isinstance(value, datetime) else str(value)
