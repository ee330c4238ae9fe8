"""When an event is sent again, and when a webhook is turned off. Pure: no I/O, no clock."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

PAUSES: Final = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=2),
    timedelta(hours=4),
    timedelta(hours=8),
    timedelta(hours=8),
)
"""Between the tries of one event: ten tries in about a day. Each pause is up to a tenth longer."""
MOST_TRIES: Final = len(PAUSES) + 1
JITTER: Final = 0.1
LONGEST_RETRY_AFTER: Final = timedelta(days=1)
"""A receiver's longer `Retry-After` counts as this."""
OFF_AFTER: Final = timedelta(days=3)
"""A webhook without any delivery since its first failure is turned off after this."""
_FAILURES_BEFORE_OFF: Final = MOST_TRIES
"""A webhook is not turned off before so many failures in a row: few events may leave long gaps between them."""
_ROUNDS_BEFORE_PAUSE: Final = 3
_FIRST_PAUSE: Final = timedelta(seconds=5)
_LONGEST_PAUSE: Final = timedelta(minutes=5)
MOST_ANSWER: Final = 2_000
"""Characters of an answer that are kept."""


class WebhookState(StrEnum):
    ON = "on"
    OFF = "off"
    """A person turned it off."""
    FAILED = "failed"
    """The service turned it off; `problem` says why."""


class TryOutcome(StrEnum):
    DELIVERED = "delivered"
    FAILED = "failed"
    GIVEN_UP = "given_up"
    """It failed as often as an event may: the event is a dead letter of the webhook."""


@dataclass(frozen=True, slots=True)
class Webhook:
    subscription: str
    brand: str
    name: str
    account: str
    types: tuple[str, ...] | None
    strict: bool
    """Whether an event waits until the one before it was delivered or given up."""
    state: WebhookState
    problem: str | None
    failures: int
    """Requests that failed since the last delivery."""
    failing_since: datetime | None
    delivered_at: datetime | None
    is_resending: bool
    missed_until: datetime | None
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ReceiverAnswer:
    """What came of one request; `status` is None without an answer of the receiver."""

    status: int | None = None
    text: str = ""
    """The start of its body."""
    problem: str | None = None
    """Why the event was not delivered; None if it was."""
    retry_after: timedelta | None = None
    """The receiver's wish."""


@dataclass(frozen=True, slots=True)
class WebhookTry:
    """One request, as it is logged."""

    try_id: UUID
    position: int
    event_id: UUID
    type: str
    number: int
    outcome: TryOutcome
    status: int | None
    answer: str | None
    problem: str | None
    duration_ms: int
    tried_at: datetime


def pause_after(number: int, wish: timedelta | None, chance: float) -> timedelta | None:
    """How long an event waits after its try of this number; None: it is given up.

    Args:
        number: 1 for the first try.
        wish: the receiver's `Retry-After`.
        chance: between 0 and 1, for the jitter.
    """
    if number >= MOST_TRIES:
        return None
    pause = PAUSES[number - 1] * (1 + JITTER * chance)
    return max(pause, min(wish, LONGEST_RETRY_AFTER)) if wish is not None else pause


def pause_of_webhook(failures: int) -> timedelta:
    """How long a webhook without order rests after so many rounds without a delivery, so that a receiver that is away gets few requests."""
    beyond = failures - _ROUNDS_BEFORE_PAUSE
    return timedelta() if beyond < 0 else min(_FIRST_PAUSE * 2 ** min(beyond, 10), _LONGEST_PAUSE)


def is_to_be_off(failures: int, failing_since: datetime | None, now: datetime) -> bool:
    return failing_since is not None and failures >= _FAILURES_BEFORE_OFF and now - failing_since >= OFF_AFTER
