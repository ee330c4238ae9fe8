"""Reads messages of other systems: our envelope, or a CloudEvent 1.0 in its JSON form. Pure: no I/O."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints, ValidationError

from chassis.http.api import describe_invalid
from chassis.http.problem_codes import RefusalError
from orchestrator import problem_codes as codes
from orchestrator.requests import RequestBody

MAX_NAME: Final = 200
"""Characters of an id or a source."""
_PRINTABLE: Final = r"^[^\x00-\x1f\x7f-\x9f]+$"

Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=_PRINTABLE)]


class Envelope(RequestBody):
    """A command in the envelope of our own messages."""

    event_id: UUID
    type: Name
    source: Name
    timestamp: AwareDatetime
    payload: dict[str, Any]
    correlation_id: str | None = None
    """Accepted and not used: each command begins a chain of its own."""
    causation_id: UUID | None = None
    """Accepted and not used."""


class ReceivedCloudEvent(BaseModel):
    """A command as a CloudEvent. Further attributes are extensions, which are not used."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    specversion: Literal["1.0"]
    id: Name
    source: Name
    type: Name
    time: AwareDatetime
    datacontenttype: Literal["application/json"] = "application/json"
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    id: str
    source: str
    type: str
    time: datetime
    data: dict[str, Any]

    @property
    def digest(self) -> bytes:
        """Hash of what the message asks for. The time is no part of it: senders may renew it when they send again."""
        told = json.dumps([self.type, self.data], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(told.encode()).digest()


def read_message(document: object) -> ReceivedMessage:
    """Reads one message.

    Raises:
        RefusalError: it is neither an envelope nor a CloudEvent.
    """
    if not isinstance(document, dict):
        raise RefusalError(codes.INVALID_MESSAGE, "a message must be a JSON object")
    try:
        if "specversion" in document:
            event = ReceivedCloudEvent.model_validate(document)
            return ReceivedMessage(event.id, event.source, event.type, event.time, event.data)
        sent = Envelope.model_validate(document)
    except ValidationError as error:
        raise RefusalError(codes.INVALID_MESSAGE, describe_invalid(error)) from error
    return ReceivedMessage(str(sent.event_id), sent.source, sent.type, sent.timestamp, sent.payload)


def told_of(document: object) -> tuple[str | None, str | None]:
    """Id and type that a message names, for the answer, also if it cannot be read; None for what is no short text."""
    if not isinstance(document, dict):
        return None, None
    return _shown(document.get("id", document.get("event_id"))), _shown(document.get("type"))


def _shown(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= MAX_NAME and value.isprintable() else None
