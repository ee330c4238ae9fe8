"""The AMQP headers this library reads and writes; none begins with `x-`, which belongs to the broker."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

ATTEMPT: Final = "attempt"
"""Number of this attempt, from 1."""
REPLAY_OF: Final = "replay-of"
"""`event_id` of the dead letter that this message replays."""
TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"

FAILURE_REASON: Final = "failure-reason"
FAILURE_TYPE: Final = "failure-type"
FAILURE_MESSAGE: Final = "failure-message"
FAILURE_STACK: Final = "failure-stack"
FAILURE_ATTEMPTS: Final = "failure-attempts"
FAILURE_FIRST_AT: Final = "failure-first-at"
FAILURE_LAST_AT: Final = "failure-last-at"
FAILURE_SERVICE: Final = "failure-service"
FAILURE_QUEUE: Final = "failure-queue"

Headers = Mapping[str, Any]


def integer(headers: Headers, name: str, default: int) -> int:
    """A whole number of 1 or more; anything else, which only a stranger would send, is `default`."""
    value = headers.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else default


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
