"""Makes the replay of a message from its bytes, if these are an envelope. Pure."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from pydantic import ValidationError

from envelope import MAX_MESSAGE_BYTES, NO_LIMITS, ChainLimits, EnvelopeHead

# Numbers stay text: nothing is computed with them, and a float or a huge integer would not survive.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_SPACE: Final = " \t\n\r"
_ADDED_BYTES: Final = 300
"""Room for `causation_id`, a longer `timestamp` and new limits."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A new message that repeats a dead one."""

    event_id: UUID
    type: str
    correlation_id: str | None
    original: UUID
    """`event_id` of the dead message."""
    body: bytes


def read_head(body: bytes) -> EnvelopeHead | None:
    """The envelope in the body; None if no consumer could read the body."""
    if len(body) > MAX_MESSAGE_BYTES - _ADDED_BYTES:
        return None
    try:
        return EnvelopeHead.model_validate_json(body)
    except ValidationError:
        return None


def replay_of(body: bytes, *, event_id: UUID, now: datetime, limits: ChainLimits = NO_LIMITS) -> Replay:
    """A copy of the message with a new id and time, and the old id as its cause; all other fields stay, unknown ones too.

    The given `limits` replace its own.

    Raises:
        ValueError: the body is not an envelope.
    """
    head = read_head(body)
    if head is None:
        raise ValueError("the body is no envelope")
    members = _members(body.decode())
    members["event_id"] = json.dumps(str(event_id))
    members["causation_id"] = json.dumps(str(head.event_id))
    members["timestamp"] = json.dumps(now.isoformat())
    if limits.deadline is not None:
        members["deadline"] = json.dumps(limits.deadline.isoformat())
    if limits.max_cost is not None:
        members["max_cost"] = json.dumps(limits.max_cost)
    text = ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items())
    return Replay(event_id, head.type, head.correlation_id, head.event_id, f"{{{text}}}".encode())


def _members(text: str) -> dict[str, str]:
    """The members of a valid JSON object, with the source text of their values."""
    members: dict[str, str] = {}
    position = _skip_space(text, _skip_space(text, 0) + 1)
    while text[position] != "}":
        name, position = _DECODER.raw_decode(text, position)
        start = _skip_space(text, _skip_space(text, position) + 1)
        _, end = _DECODER.raw_decode(text, start)
        members[name] = text[start:end]
        position = _skip_space(text, end)
        if text[position] == ",":
            position = _skip_space(text, position + 1)
    return members


def _skip_space(text: str, position: int) -> int:
    # As our own messages are written, there is none.
    while text[position] in _SPACE:
        position += 1
    return position
