"""The AMQP headers that this library reads and writes; only the broker's names start with `x-`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from chassis.observing import traces

ATTEMPT: Final = "attempt"
"""Number of this attempt, from 1."""
WAITS: Final = "waits"
"""How often the message has waited for a dependency since its last attempt."""
WAITS_FOR: Final = "waits-for"
"""The dependency that it waits for now."""
BROKER_DEATHS: Final = "x-death"
"""The broker's own record of dead-lettering."""
BROKER_RETURNS: Final = "x-delivery-count"
"""How often a message returned to a quorum queue; only on redelivered ones. From RabbitMQ 4.3, `basic.nack` does not count."""
BROKER_ACQUISITIONS: Final = "x-acquired-count"
"""How often a quorum queue delivered the message; from RabbitMQ 4.3, which omits `BROKER_RETURNS` while that is 0."""
REPLAY_OF: Final = "replay-of"
"""`event_id` of the dead letter that this message replays."""
FOR_OTHERS: Final = "for-others"
"""1: an integration event; a consumer that does not know its type ignores it."""
TRACEPARENT: Final = traces.TRACEPARENT
TRACESTATE: Final = traces.TRACESTATE
BAGGAGE: Final = traces.BAGGAGE
"""The subject of the work, for spans: `correlation_id` and the catalogue's subject fields."""

FAILURE_REASON: Final = "failure-reason"
FAILURE_TYPE: Final = "failure-type"
FAILURE_MESSAGE: Final = "failure-message"
FAILURE_STACK: Final = "failure-stack"
FAILURE_ATTEMPTS: Final = "failure-attempts"
FAILURE_FIRST_AT: Final = "failure-first-at"
FAILURE_LAST_AT: Final = "failure-last-at"
FAILURE_SERVICE: Final = "failure-service"
FAILURE_QUEUE: Final = "failure-queue"
FAILURE_CODE: Final = "failure-code"
"""Hash of the source of the service in which it failed: `messaging.running_code`."""
FAILURE_VERSION: Final = "failure-version"


class Reason(StrEnum):
    """Why a message is a dead letter: the values of `FAILURE_REASON`."""

    EXHAUSTED = "exhausted"
    INVALID_PAYLOAD = "invalid_payload"
    UNKNOWN_TYPE = "unknown_type"
    FALSE_CLAIM = "false_claim"
    PERMANENT = "permanent"
    CRASHED_CONSUMER = "crashed_consumer"
    NOT_AN_ENVELOPE = "not_an_envelope"
    TOO_LARGE = "too_large"
    DELIVERY_LIMIT = "delivery_limit"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    DEADLINE_PASSED = "deadline_passed"
    COST_REACHED = "cost_reached"


# One more must still fit where it is written: an AMQP integer, a column.
_LARGEST: Final = 2**31 - 2

Headers = Mapping[str, Any]


def integer(headers: Headers, name: str, default: int) -> int:
    """A whole number from 1 to `_LARGEST`; `default` for any other value, which only a stranger would send."""
    value = headers.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return default
    return value if 1 <= value <= _LARGEST else default


def text(headers: Headers, name: str) -> str | None:
    value = headers.get(name)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return value.replace("\x00", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else None


def identity(headers: Headers, name: str) -> UUID | None:
    try:
        return UUID(text(headers, name) or "")
    except ValueError:
        return None


def moment(headers: Headers, name: str) -> datetime | None:
    """An ISO 8601 date and time with a zone, in UTC."""
    try:
        value = datetime.fromisoformat(text(headers, name) or "")
        return value.astimezone(UTC) if value.tzinfo else None
    except (ValueError, OverflowError):  # the latter: year 1 or 9999, moved out of range by its zone
        return None
