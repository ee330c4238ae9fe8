"""What has become of a sent message: decides from what its consumer and the dead letters say. Pure: no I/O, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from monitor.dead_letters import DeadLetterState

QUIET: Final = timedelta(seconds=60)
"""How long a queue must have been seen empty. A message that was just taken from it is in no list for some seconds."""


class LedgerState(StrEnum):
    """A message that is not done; done ones are only counted."""

    UNDER_WAY = "under_way"
    DEAD_LETTER = "dead_letter"
    """Its dead letter is open."""
    DISCARDED = "discarded"
    """An operator discarded its dead letter, or it was removed with its brand."""
    MISSING = "missing"
    CLOSED = "closed"
    """Missing, and closed by an operator with a reason."""


class LedgerPlace(StrEnum):
    """Where a message is, or was last."""

    QUEUE = "queue"
    HELD = "held"
    """A process of its consumer has it; its handler has not begun."""
    HANDLER = "handler"
    RETRY = "retry"
    """It waits in its consumer for the next attempt."""
    OUTBOX = "outbox"
    """Its consumer has dead-lettered it, and hands it to the broker."""
    DEAD_LETTER_QUEUE = "dead_letter_queue"
    DEAD_LETTER = "dead_letter"
    """The monitor has recorded it."""
    REPLAY = "replay"
    """It was replayed, and its consumer has not reported the outcome."""


@dataclass(frozen=True, slots=True)
class Unhandled:
    """What its consumer says of a message that it has not handled."""

    state: str
    """See `messaging.storage.outcomes.MessageState`."""
    since: datetime | None = None
    due_at: datetime | None = None
    is_unsent: bool = False


@dataclass(frozen=True, slots=True)
class LedgerMessage:
    """A message that is not known to be done."""

    event_id: UUID
    queue: str
    sender: str
    type: str
    correlation_id: str | None
    sent_at: datetime
    known_at: datetime
    """Until when it was somewhere for sure."""
    state: LedgerState = LedgerState.UNDER_WAY
    place: LedgerPlace = LedgerPlace.QUEUE
    place_at: datetime | None = None
    absent_since: datetime | None = None
    """Since when its place has been seen empty."""
    missing_since: datetime | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    closed_why: str | None = None

    @property
    def shown_state(self) -> LedgerState:
        """The state for people: the reconciler goes on looking for a closed message as for any missing one."""
        return LedgerState.CLOSED if self.closed_at is not None else self.state


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of a message; `state` is None if it is done."""

    state: LedgerState | None
    place: LedgerPlace = LedgerPlace.QUEUE
    place_at: datetime | None = None
    known_at: datetime | None = None
    absent_since: datetime | None = None


DONE: Final = Finding(None)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a queue at the time of a question.

    Args:
        now: the time.
        overdue: after this time without a trace, a message is missing.
        ready: messages in the queue; None: unknown.
        dead_ready: messages in its dead-letter queue; None: unknown.
        done_until: by sender, when the youngest message was sent that was handled. The queue gives them out in order.
        quiet: how long a queue must have been seen empty.
    """

    now: datetime
    overdue: timedelta
    ready: int | None
    dead_ready: int | None
    done_until: Mapping[str, datetime | None]
    quiet: timedelta = QUIET


def judge(
    message: LedgerMessage, told: Unhandled | None, letter: DeadLetterState | None, around: Surroundings
) -> Finding:
    """Decides what has become of a message; `told` is None if its consumer has handled it."""
    if letter is not None:
        return _of_letter(letter, around)
    if told is None:
        return DONE
    if told.state in {"unknown", "dead_lettered"} and not told.is_unsent:
        is_dead = told.state == "dead_lettered"
        place = LedgerPlace.DEAD_LETTER_QUEUE if is_dead else LedgerPlace.QUEUE
        return _out_of_sight(message, place, around.dead_ready if is_dead else around.ready, around)
    place, place_at = _place_of(told)
    return Finding(LedgerState.UNDER_WAY, place, place_at, max(told.due_at or around.now, around.now))


def _place_of(told: Unhandled) -> tuple[LedgerPlace, datetime | None]:
    """The place of a message that its consumer has, and a time."""
    match told.state:
        case "waiting":
            return LedgerPlace.RETRY, told.due_at
        case "running":
            return LedgerPlace.HANDLER, told.since
        case "held":
            return LedgerPlace.HELD, None
        case _:
            return LedgerPlace.OUTBOX, None


def _of_letter(letter: DeadLetterState, around: Surroundings) -> Finding:
    match letter:
        case DeadLetterState.OPEN:
            return Finding(LedgerState.DEAD_LETTER, LedgerPlace.DEAD_LETTER, None, around.now)
        case DeadLetterState.REPLAYING:
            return Finding(LedgerState.UNDER_WAY, LedgerPlace.REPLAY, None, around.now)
        case DeadLetterState.DISCARDED:
            return Finding(LedgerState.DISCARDED, LedgerPlace.DEAD_LETTER, None, around.now)
        case DeadLetterState.RESOLVED:
            return DONE


def _out_of_sight(
    message: LedgerMessage, place: LedgerPlace, waiting: int | None, around: Surroundings
) -> Finding:
    """The finding for a message that only a queue can have."""
    was_here = message.place is place
    # It has just left the place where it was: its time in the queue begins now.
    known_at = message.known_at if was_here else max(message.known_at, around.now)
    absent_since = (message.absent_since if was_here else None) or around.now if waiting == 0 else None
    if was_here and message.state is LedgerState.MISSING:
        # Others in the queue do not make it come back.
        return Finding(LedgerState.MISSING, place, message.sent_at, known_at, absent_since)
    is_overtaken = (
        place is LedgerPlace.QUEUE
        and (done_until := around.done_until.get(message.sender)) is not None
        and done_until - known_at > around.overdue
    )
    is_absent = absent_since is not None and around.now - absent_since >= around.quiet
    if around.now - known_at > around.overdue and (is_overtaken or is_absent):
        return Finding(LedgerState.MISSING, place, message.sent_at, known_at, absent_since)
    return Finding(LedgerState.UNDER_WAY, place, message.sent_at, known_at, absent_since)


def last_hop(queue: str, service: str, place: LedgerPlace, known_at: datetime) -> str:
    """Where a missing message was last, in words."""
    at = f"{known_at:%Y-%m-%d %H:%M:%S} UTC"
    if place is LedgerPlace.DEAD_LETTER_QUEUE:
        return (
            f"{service} dead-lettered it at {at} or later, and it has not come out of the queue {queue}-dlq"
        )
    return f"the broker confirmed it into the queue {queue} at {at}, and {service} has given it no outcome"
