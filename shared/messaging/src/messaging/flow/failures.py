"""Failures of messages, in the form that people read later."""

import traceback
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chassis import redaction
from messaging import headers as header
from messaging.errors import CostReached, RetryLater, Unprocessable, WaitFor
from messaging.headers import Reason
from messaging.running_code import RunningCode

MAX_MESSAGE_CHARS: Final = 2_000
MAX_STACK_CHARS: Final = 4_000
_READ_CHARS: Final = 8 * MAX_STACK_CHARS
"""Characters read from an exception's text: it may repeat a whole document."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt: what failed and where."""

    reason: Reason
    exception_type: str
    message: str
    stack: str = ""
    after: timedelta | None = None
    """The wait that the failing side requested (`Retry-After`), if any."""
    waits_for: str = ""
    """The unavailable dependency; if set, the attempt does not count."""
    at_once: bool = False
    """Whether the next attempt needs no wait, because this one ended with its process."""

    @property
    def permanent(self) -> bool:
        return self.reason is not Reason.EXHAUSTED


def failure_of(error: BaseException) -> Failure:
    """Converts an exception of a handler into a failure."""
    return Failure(
        reason=_reason_of(error),
        exception_type=type(error).__qualname__,
        message=_clean(_redacted(str(error)) or type(error).__qualname__, MAX_MESSAGE_CHARS),
        stack=_stack(error),
        after=error.after if isinstance(error, RetryLater) else None,
        waits_for=error.dependency if isinstance(error, WaitFor) else "",
    )


def _reason_of(error: BaseException) -> Reason:
    if isinstance(error, CostReached):
        return Reason.COST_REACHED
    return Reason.PERMANENT if isinstance(error, Unprocessable) else Reason.EXHAUSTED


def interruption() -> Failure:
    """The failure of an attempt that ends with its process; the next one follows at once."""
    return Failure(
        Reason.EXHAUSTED, "PutDown", "its process ended", waits_for="another process", at_once=True
    )


def failure_headers(
    failure: Failure,
    *,
    attempts: int,
    first_failed_at: datetime,
    failed_at: datetime,
    service: str,
    queue: str,
    code: RunningCode,
) -> dict[str, str | int]:
    """Converts the failure into AMQP headers; times are ISO 8601 in UTC."""
    facts: dict[str, str | int] = {
        header.FAILURE_REASON: failure.reason.value,
        header.FAILURE_TYPE: failure.exception_type,
        header.FAILURE_MESSAGE: failure.message,
        header.FAILURE_STACK: failure.stack,
        header.FAILURE_ATTEMPTS: attempts,
        header.FAILURE_FIRST_AT: first_failed_at.isoformat(),
        header.FAILURE_LAST_AT: failed_at.isoformat(),
        header.FAILURE_SERVICE: service,
        header.FAILURE_QUEUE: queue,
    }
    if code.hash:
        facts[header.FAILURE_CODE] = code.hash
    if code.version:
        facts[header.FAILURE_VERSION] = code.version
    return facts


def _stack(error: BaseException) -> str:
    stack = _redacted("".join(traceback.format_exception(error))[-_READ_CHARS:])
    # The end says what happened, and the frames nearest to it where.
    trimmed = stack if len(stack) <= MAX_STACK_CHARS else "...\n" + stack[-MAX_STACK_CHARS:]
    return _clean(trimmed, MAX_STACK_CHARS + 4)


def _redacted(value: str) -> str:
    # Before anything is cut off that would tell a secret.
    return redaction.text(value[:_READ_CHARS])


def _clean(value: str, limit: int) -> str:
    # Neither PostgreSQL nor every log viewer takes U+0000 or lone surrogates.
    return value.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()[:limit]
