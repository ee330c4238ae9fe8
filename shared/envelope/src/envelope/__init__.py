"""The contract between the services: data only, no behaviour beyond checking it."""

from envelope.catalogue import CATALOGUE, SERVICES, Kind, MessageType, message_type_of
from envelope.message import (
    MAX_MESSAGE_BYTES,
    DomainMessage,
    EnvelopeHead,
    MessageTooLargeError,
    Payload,
    encode,
    new_event_id,
)

__all__ = [
    "CATALOGUE",
    "MAX_MESSAGE_BYTES",
    "SERVICES",
    "DomainMessage",
    "EnvelopeHead",
    "Kind",
    "MessageTooLargeError",
    "MessageType",
    "Payload",
    "encode",
    "message_type_of",
    "new_event_id",
]
