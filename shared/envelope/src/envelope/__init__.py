"""The contract between services: message types and their validation."""

from envelope.backbone import DeadLetterEdited, DeadLetterResolved
from envelope.catalogue import Catalogue, LateRule, MessageKind, MessageType, command, event
from envelope.limits import MAX_COST, MICROS, NO_LIMITS, ChainLimits, deadline_in_words
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
    "MAX_COST",
    "MAX_MESSAGE_BYTES",
    "MICROS",
    "NO_LIMITS",
    "Catalogue",
    "ChainLimits",
    "DeadLetterEdited",
    "DeadLetterResolved",
    "DomainMessage",
    "EnvelopeHead",
    "LateRule",
    "Message",
    "MessageKind",
    "MessageTooLargeError",
    "MessageType",
    "Payload",
    "command",
    "deadline_in_words",
    "encode",
    "event",
    "new_event_id",
]
