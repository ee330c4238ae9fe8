"""Every message type, once: routing, validation, schemas and documentation all come from this table."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from envelope import payloads
from envelope.message import DomainMessage, Payload

EVENTS_QUEUE: Final = "brand-events"
SERVICES: Final = ("orchestrator", "research", "publisher", "social", "monitor")


class Kind(StrEnum):
    COMMAND = "command"
    """Directed: goes to the one queue of the service that carries it out."""
    EVENT = "event"
    """Broadcast: says what happened, to whoever binds to it."""


@dataclass(frozen=True, slots=True)
class MessageType:
    """One line of the catalogue."""

    name: str
    kind: Kind
    payload: type[Payload]
    queue: str
    """The queue it is handled from."""
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    envelope: type[DomainMessage[Payload]]
    """`DomainMessage` over the payload, built once: making a generic model is slow."""


def _command(
    name: str, payload: type[Payload], *, to: str, producers: tuple[str, ...] = ("orchestrator",)
) -> MessageType:
    envelope = DomainMessage[payload]  # type: ignore[valid-type]
    return MessageType(name, Kind.COMMAND, payload, f"{to}-commands", producers, (to,), envelope)


def _event(name: str, payload: type[Payload], *, producers: tuple[str, ...]) -> MessageType:
    envelope = DomainMessage[payload]  # type: ignore[valid-type]
    return MessageType(name, Kind.EVENT, payload, EVENTS_QUEUE, producers, ("orchestrator",), envelope)


_TYPES = (
    _command("research.requested", payloads.ResearchRequested, to="research"),
    _event("research.completed", payloads.ResearchCompleted, producers=("research",)),
    _event("research.failed", payloads.ResearchFailed, producers=("research",)),
    _command("content.generate", payloads.ContentGenerate, to="orchestrator"),
    _event("content.generated", payloads.ContentGenerated, producers=("orchestrator",)),
    _command("content.publish", payloads.ContentPublish, to="publisher"),
    _event("content.published", payloads.ContentPublished, producers=("publisher",)),
    _event("content.publish_failed", payloads.ContentPublishFailed, producers=("publisher",)),
    _command("social.create", payloads.SocialCreate, to="social"),
    _event("social.posted", payloads.SocialPosted, producers=("social",)),
    _event("social.failed", payloads.SocialFailed, producers=("social",)),
    _command("dead_letter.resolved", payloads.DeadLetterResolved, to="monitor", producers=SERVICES),
    _event("dead_letter.recorded", payloads.DeadLetterRecorded, producers=("monitor",)),
)

CATALOGUE: Final[Mapping[str, MessageType]] = MappingProxyType({entry.name: entry for entry in _TYPES})

_BY_PAYLOAD = {entry.payload: entry for entry in _TYPES}


def message_type_of(payload: Payload | type[Payload]) -> MessageType:
    """The catalogue line of a payload.

    Raises:
        LookupError: the payload's class is not in the catalogue.
    """
    cls = payload if isinstance(payload, type) else type(payload)
    try:
        return _BY_PAYLOAD[cls]
    except KeyError:
        raise LookupError(
            f"{cls.__name__} is not in the catalogue: add a line to envelope/catalogue.py"
        ) from None
