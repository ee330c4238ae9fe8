"""What may happen to a dead letter; decisions only."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, assert_never
from uuid import UUID


class State(StrEnum):
    OPEN = "open"
    """Nobody has dealt with it."""
    REPLAYING = "replaying"
    """Sent again; not handled yet."""
    RESOLVED = "resolved"
    """Its replay was handled."""
    SUPERSEDED = "superseded"
    """Its replay died too, and is a dead letter of its own."""
    DISCARDED = "discarded"
    """An operator decided that it will not be handled."""


class NotPossibleError(Exception):
    """The operation does not fit the dead letter; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The message that is sent again."""

    queue: str
    type: str
    correlation_id: str | None
    body: bytes
    event_id: UUID
    replay_of: UUID


def replay(
    *, state: State, body: bytes, event_id: UUID | None, queue: str, new_event_id: UUID, now: datetime
) -> Replay:
    """The replay of a dead letter: a new identity, the same conversation, caused by the original.

    Raises:
        NotPossibleError: it is not open, or its body is no envelope.
    """
    match state:
        case State.OPEN:
            pass
        case State.REPLAYING:
            raise NotPossibleError("it is being replayed already; wait for the outcome")
        case State.RESOLVED | State.SUPERSEDED | State.DISCARDED:
            raise NotPossibleError(f"it is {state.value}; only open dead letters can be replayed")
        case _:
            assert_never(state)
    if event_id is None:
        raise NotPossibleError(
            "its body is no envelope, so no handler could take it: look at the body, have its sender send it properly, "
            "then discard it"
        )
    envelope: dict[str, Any] = json.loads(body)
    changed = {"event_id": str(new_event_id), "causation_id": str(event_id), "timestamp": now.isoformat()}
    return Replay(
        queue=queue,
        type=envelope["type"],
        correlation_id=envelope.get("correlation_id"),
        body=json.dumps(envelope | changed).encode(),
        event_id=new_event_id,
        replay_of=event_id,
    )


def check_discard(state: State) -> None:
    """Raises `NotPossibleError` unless a dead letter in this state can be discarded."""
    match state:
        case State.OPEN:
            return
        case State.REPLAYING:
            raise NotPossibleError("it is being replayed; wait for the outcome, then discard what is left")
        case State.RESOLVED | State.SUPERSEDED | State.DISCARDED:
            raise NotPossibleError(f"it is {state.value} already")
        case _:
            assert_never(state)


_FRAME = re.compile(r'File "(?:.*/)?([^/"]+)", line (\d+), in (\S+)')


def innermost_frame(stack: str | None) -> str | None:
    """`file.py:12 in function` of the last frame of a stack."""
    frames = _FRAME.findall(stack or "")
    return None if not frames else f"{frames[-1][0]}:{frames[-1][1]} in {frames[-1][2]}"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a dead message was about, as far as its payload names it."""

    brand_slug: str | None = None
    keyword: str | None = None
    content_id: UUID | None = None


_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_SLUG, _MAX_KEYWORD = 63, 200


def subject_of(body: bytes) -> Subject:
    """Brand, keyword and content of a dead message; whatever is missing or malformed is None."""
    try:
        payload = json.loads(body)["payload"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return Subject()
    if not isinstance(payload, dict):
        return Subject()
    slug, keyword = payload.get("brand_slug"), payload.get("keyword")
    good_slug = isinstance(slug, str) and len(slug) <= _MAX_SLUG and _SLUG.fullmatch(slug)
    good_keyword = isinstance(keyword, str) and 0 < len(keyword) <= _MAX_KEYWORD and "\x00" not in keyword
    try:
        content_id = UUID(payload["content_id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        content_id = None
    return Subject(slug if good_slug else None, keyword if good_keyword else None, content_id)
