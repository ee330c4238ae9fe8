"""Dead letters: in which state what may be done with one, and how one death settles another."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, NewType, assert_never
from uuid import UUID

DeadMessageId = NewType("DeadMessageId", UUID)

SILENT_AFTER: Final = timedelta(hours=24)
"""A replay unheard of for so long will not be heard of again (its queue was purged, say): retries, with their longest
waits, end much earlier."""

ANNOUNCEMENT: Final = "dead_letter.recorded"


class DeadLetterState(StrEnum):
    OPEN = "open"
    """Waits for an operator."""
    REPLAYING = "replaying"
    """Was sent again; its consumer has not said yet how that went."""
    RESOLVED = "resolved"
    """Its replay was handled, or died as another dead letter, which then is the one to look at; or another command did its work."""
    DISCARDED = "discarded"
    """An operator decided that it is not to be handled."""


class RefusalKind(StrEnum):
    CONFLICT = "conflict"
    """Its state does not allow it, or does not allow it any more."""
    UNPROCESSABLE = "unprocessable"
    """What it is does not allow it, ever."""


@dataclass(frozen=True, slots=True)
class DeadLetterRefusal:
    """Why something may not be done, in a sentence that says what to do instead."""

    problem: RefusalKind
    reason: str


@dataclass(frozen=True, slots=True)
class DeadLetterSnapshot:
    """Where a dead message stands: all that decisions about it need."""

    id: DeadMessageId
    state: DeadLetterState
    replayable: bool
    replayed_at: datetime | None = None
    replay_event_id: UUID | None = None
    resolution: str | None = None
    asked_at: datetime | None = None
    """When its work was asked for; None of one that an earlier version recorded."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """How a death enters the records."""

    state: DeadLetterState
    resolution: str | None = None
    replay_of: DeadMessageId | None = None
    closes: DeadMessageId | None = None
    """The earlier death that this one stands for from now on."""


def replay_refusal(dead: DeadLetterSnapshot) -> DeadLetterRefusal | None:
    """None if it may be replayed."""
    match dead.state:
        case DeadLetterState.OPEN if dead.replayable:
            return None
        case DeadLetterState.OPEN:
            return DeadLetterRefusal(
                RefusalKind.UNPROCESSABLE,
                "its body is no envelope within the size limit, so no consumer can ever read it: correct the sender, "
                "have it send the message anew, then discard this dead letter with a reason",
            )
        case DeadLetterState.REPLAYING:
            return DeadLetterRefusal(
                RefusalKind.CONFLICT,
                f"it is being replayed already, as {dead.replay_event_id}: wait until that is resolved or dead again",
            )
        case DeadLetterState.RESOLVED | DeadLetterState.DISCARDED:
            return DeadLetterRefusal(RefusalKind.CONFLICT, _settled(dead, "replayed"))
        case _:
            assert_never(dead.state)


def discard_refusal(dead: DeadLetterSnapshot, *, now: datetime) -> DeadLetterRefusal | None:
    """None if it may be discarded."""
    match dead.state:
        case DeadLetterState.OPEN:
            return None
        case DeadLetterState.REPLAYING if (
            dead.replayed_at is not None and now - dead.replayed_at >= SILENT_AFTER
        ):
            return None
        case DeadLetterState.REPLAYING:
            return DeadLetterRefusal(
                RefusalKind.CONFLICT,
                f"its replay {dead.replay_event_id} is on its way and may still be handled: wait until it is resolved "
                f"or dead again; a replay unheard of for {SILENT_AFTER.total_seconds() / 3600:.0f} hours may be discarded",
            )
        case DeadLetterState.RESOLVED | DeadLetterState.DISCARDED:
            return DeadLetterRefusal(RefusalKind.CONFLICT, _settled(dead, "discarded"))
        case _:
            assert_never(dead.state)


def initial_state(
    *, handled_as: UUID | None, earlier: DeadLetterSnapshot | None, finished: str | None = None
) -> InitialState:
    """How a new death is recorded.

    Args:
        handled_as: the message that did its work, where a consumer has said so: itself or a replay of it.
        earlier: the death whose replay this message was.
        finished: the resolution, if another command has done its work.
    """
    replay_of = None if earlier is None else earlier.id
    if handled_as is not None:
        # A broker gives up on a message that it cannot get acknowledged, handled or not.
        return InitialState(DeadLetterState.RESOLVED, handled_resolution(handled_as), replay_of)
    state = DeadLetterState.OPEN if finished is None else DeadLetterState.RESOLVED
    if earlier is None:
        return InitialState(state, finished)
    match earlier.state:
        case DeadLetterState.OPEN | DeadLetterState.REPLAYING:
            return InitialState(state, finished, replay_of=earlier.id, closes=earlier.id)
        case DeadLetterState.RESOLVED | DeadLetterState.DISCARDED:
            return InitialState(state, finished, replay_of=earlier.id)
        case _:
            assert_never(earlier.state)


def handled_resolution(event_id: UUID) -> str:
    return f"handled as {event_id}"


def finished_resolution(finished_by: UUID | None, finished_at: datetime) -> str:
    who = "another command" if finished_by is None else str(finished_by)
    return f"done by {who} at {finished_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def replaced_resolution(by: DeadMessageId) -> str:
    return f"replaced by {by}"


def is_announced(message_type: str | None) -> bool:
    """Whether `dead_letter.recorded` is sent for a death.

    Not for the death of such an announcement: a consumer that cannot take one would cause the next, without end.
    """
    return message_type != ANNOUNCEMENT


_FRAME: Final = re.compile(
    r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE
)


def failing_frame(stack: str | None) -> str | None:
    """The innermost frame of a Python stack, `folder/file.py:12 in function`; None if there is none."""
    frames = _FRAME.findall(stack or "")
    if not frames:
        return None
    file, line, function = frames[-1]
    return f"{'/'.join(file.split('/')[-2:])}:{line} in {function}"[:300]


def _settled(dead: DeadLetterSnapshot, wish: str) -> str:
    return f"it is {dead.state.value} already ({dead.resolution}) and cannot be {wish} any more"
