"""The contract between services: message types and their validation."""

from envelope.backbone import DeadLetterResolved
from envelope.catalogue import Catalogue, MessageKind, MessageType, command, event
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
    "Message",
    "MessageKind",
    "MessageTooLargeError",
    "MessageType",
    "Payload",
    "command",
    "encode",
    "event",
    "new_event_id",
]
