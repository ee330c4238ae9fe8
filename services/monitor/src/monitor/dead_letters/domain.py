"""The states of dead letters: which decisions each state allows, and how a later dead letter closes an earlier one."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, NewType, assert_never
from uuid import UUID

from envelope import ChainLimits

DeadMessageId = NewType("DeadMessageId", UUID)

SILENT_AFTER: Final = timedelta(hours=24)
"""After this time a replay without an outcome is lost, for example because its queue was purged. Retries end much earlier."""

ANNOUNCEMENT: Final = "dead_letter.recorded"
_DEADLINE_PASSED: Final = "deadline_passed"
_COST_REACHED: Final = "cost_reached"
"""Reasons, as `messaging.Reason` has them."""


class DeadLetterState(StrEnum):
    OPEN = "open"
    """Waits for an operator's decision."""
    REPLAYING = "replaying"
    """Sent again; its consumer has not reported the outcome."""
    RESOLVED = "resolved"
    """A consumer handled its replay, another dead letter replaced it, or another command did its work."""
    DISCARDED = "discarded"
    """An operator closed it without a replay."""


class OperationVerb(StrEnum):
    """What an operator does with all dead letters that match."""

    REPLAY = "replay"
    DISCARD = "discard"
    RESTORE = "restore"

    @property
    def takes(self) -> DeadLetterState:
        """The state that a dead letter needs for it."""
        return DeadLetterState.DISCARDED if self is OperationVerb.RESTORE else DeadLetterState.OPEN


class RefusalKind(StrEnum):
    CONFLICT = "conflict"
    """The current state does not allow the decision."""
    UNPROCESSABLE = "unprocessable"
    """The message itself never allows the decision."""


@dataclass(frozen=True, slots=True)
class DeadLetterRefusal:
    """Why an operator may not replay, discard or restore a dead letter; `reason` also says what to do instead."""

    problem: RefusalKind
    reason: str


@dataclass(frozen=True, slots=True)
class DeadLetterSnapshot:
    """The state of a dead letter, with all that decisions about it depend on."""

    id: DeadMessageId
    state: DeadLetterState
    replayable: bool
    replayed_at: datetime | None = None
    replay_event_id: UUID | None = None
    resolution: str | None = None
    asked_at: datetime | None = None
    """When the work was first requested; None if an earlier version recorded the dead letter."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """The state in which a new dead letter is recorded."""

    state: DeadLetterState
    resolution: str | None = None
    replay_of: DeadMessageId | None = None
    closes: DeadMessageId | None = None
    """The earlier dead letter that this one replaces."""


def replay_refusal(dead: DeadLetterSnapshot) -> DeadLetterRefusal | None:
    """Why the dead letter may not be replayed; None if it may."""
    match dead.state:
        case DeadLetterState.OPEN if dead.replayable:
            return None
        case DeadLetterState.OPEN:
            return DeadLetterRefusal(
                RefusalKind.UNPROCESSABLE,
                "its body is not an envelope within the size limit, so no consumer can read it: correct the sender, "
                "let it send the message anew, then discard this dead letter with a reason",
            )
        case DeadLetterState.REPLAYING:
            return DeadLetterRefusal(
                RefusalKind.CONFLICT,
                f"it is being replayed already, as {dead.replay_event_id}: wait until that is resolved or dead again",
            )
        case DeadLetterState.DISCARDED if dead.replay_event_id is None:
            return DeadLetterRefusal(
                RefusalKind.CONFLICT, f"it is discarded already ({dead.resolution}): restore it first"
            )
        case DeadLetterState.RESOLVED | DeadLetterState.DISCARDED:
            return DeadLetterRefusal(RefusalKind.CONFLICT, _settled(dead, "replayed"))
        case _:
            assert_never(dead.state)


def limit_refusal(reason: str, limits: ChainLimits) -> DeadLetterRefusal | None:
    """Why a dead letter that was over a limit of its chain may not be replayed: it needs a new limit. None if it may.

    Args:
        reason: why it died.
        limits: those that the replay gets.
    """
    if reason == _DEADLINE_PASSED and limits.deadline is None:
        return DeadLetterRefusal(
            RefusalKind.UNPROCESSABLE,
            "its deadline has passed, so it would end again: give the replay a new `deadline`",
        )
    if reason == _COST_REACHED and limits.max_cost is None:
        return DeadLetterRefusal(
            RefusalKind.UNPROCESSABLE,
            "its chain has reached its cost, so it would end again: give the replay a higher `max_cost`",
        )
    return None


def queue_refusal(
    queue: str,
    redirect_to: str | None,
    message_type: str,
    *,
    handled_from: str | None,
    queues: Collection[str],
) -> DeadLetterRefusal | None:
    """Why a dead letter may not be replayed to its queue, or to the one that an operator names; None if it may.

    Only what died in a queue that is gone goes to another one, and only to the one from which its type is handled now.

    Args:
        queue: in which it died.
        redirect_to: the queue that the operator names; None: its own.
        message_type: of the message.
        handled_from: the queue from which the type is handled now; None if no service knows the type.
        queues: of the catalogue.
    """
    if queue in queues:
        if redirect_to in {None, queue}:
            return None
        why = (
            f"its queue {queue} is there, and its consumer takes the replay: replay it without `redirect_to`"
        )
    elif handled_from is None:
        why = (
            f"the catalogue has no queue {queue} any more, and no service handles {message_type} now, so nobody would take"
            " a replay: discard this dead letter"
        )
    elif redirect_to is None:
        why = (
            f"the catalogue has no queue {queue} any more, so nobody would take a replay. {message_type} is handled from"
            f" {handled_from} now: name that as `redirect_to`"
        )
    elif redirect_to != handled_from:
        why = f"{message_type} is handled from {handled_from}, not from {redirect_to}: name that as `redirect_to`"
    else:
        return None
    return DeadLetterRefusal(RefusalKind.UNPROCESSABLE, why)


def discard_refusal(dead: DeadLetterSnapshot, *, now: datetime) -> DeadLetterRefusal | None:
    """Why the dead letter may not be discarded; None if it may."""
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


def restore_refusal(dead: DeadLetterSnapshot) -> DeadLetterRefusal | None:
    """Why a discarded dead letter may not be opened again; None if it may, or is open."""
    match dead.state:
        case DeadLetterState.OPEN:
            return None
        case DeadLetterState.DISCARDED if dead.replay_event_id is None:
            return None
        case DeadLetterState.DISCARDED:
            return DeadLetterRefusal(
                RefusalKind.CONFLICT,
                f"it was replayed as {dead.replay_event_id} before it was discarded, and nobody knows whether that was "
                "handled: if its work is missing, let its sender send the message anew",
            )
        case DeadLetterState.REPLAYING:
            return DeadLetterRefusal(
                RefusalKind.CONFLICT,
                f"it is being replayed, as {dead.replay_event_id}: only a discarded one can be restored",
            )
        case DeadLetterState.RESOLVED:
            return DeadLetterRefusal(RefusalKind.CONFLICT, _settled(dead, "restored"))
        case _:
            assert_never(dead.state)


def initial_state(
    *, handled_as: UUID | None, earlier: DeadLetterSnapshot | None, finished: str | None = None
) -> InitialState:
    """The state of a new dead letter.

    Args:
        handled_as: the message that did its work, as a consumer reported it: the message itself or a replay.
        earlier: the dead letter that this message replays.
        finished: the resolution, if another command did its work.
    """
    replay_of = None if earlier is None else earlier.id
    if handled_as is not None:
        # The broker also gives up on a handled message whose acknowledgement it never received.
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
    """Whether the service publishes `dead_letter.recorded` for a dead letter of this type.

    A dead announcement gets none: a consumer that always fails on announcements would cause an endless series.
    """
    return message_type != ANNOUNCEMENT


_FRAME: Final = re.compile(
    r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE
)


def failing_frame(stack: str | None) -> str | None:
    """The innermost frame of a Python stack, `folder/file.py:12 in function`; None if the stack has no frame."""
    frames = _FRAME.findall(stack or "")
    if not frames:
        return None
    file, line, function = frames[-1]
    return f"{'/'.join(file.split('/')[-2:])}:{line} in {function}"[:300]


def _settled(dead: DeadLetterSnapshot, wish: str) -> str:
    return f"it is {dead.state.value} already ({dead.resolution}) and cannot be {wish} any more"
