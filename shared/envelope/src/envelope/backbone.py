"""Payloads that the runtime itself sends, in every system."""

from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, JsonValue, StringConstraints

from envelope.message import WITHOUT_NUL, Name, Payload

EditText = Annotated[str, StringConstraints(max_length=500), WITHOUT_NUL]


class DeadLetterResolved(Payload):
    """A replayed message was handled, so its dead letter is settled."""

    dead_event_id: UUID
    replay_event_id: UUID
    queue: Name


class DeadLetterEdited(Payload):
    """A person edited a dead letter: its consumer sends the edited message to itself, and takes no replay of the original."""

    dead_event_id: UUID
    edited_event_id: UUID
    queue: Name
    edited_at: AwareDatetime
    edited_by: EditText
    """The name that the person gave, or that of the key."""
    reason: EditText = ""
    content: dict[str, JsonValue]
    """The payload of the edited message."""
