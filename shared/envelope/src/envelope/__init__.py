"""The contract between services: data only, no behaviour beyond checking it."""

from envelope.backbone import DeadLetterResolved
from envelope.catalogue import Catalogue, Kind, MessageType, command, event
from envelope.message import (
    MAX_MESSAGE_BYTES,
    DomainMessage,
    EnvelopeHead,
    Message,
    MessageTooLargeError,
    Payload,
    encode,
    new_event_id,
)

__all__ = [
    "MAX_MESSAGE_BYTES",
    "Catalogue",
    "DeadLetterResolved",
    "DomainMessage",
    "EnvelopeHead",
    "Kind",
    "Message",
    "MessageTooLargeError",
    "MessageType",
    "Payload",
    "command",
    "encode",
    "event",
    "new_event_id",
]
