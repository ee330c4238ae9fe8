"""The envelope around every message."""

from typing import Annotated, Any, Final, Generic, TypeVar
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints
from uuid_utils.compat import uuid7

from envelope.limits import NO_LIMITS, ChainLimits, MaxCost

MAX_MESSAGE_BYTES: Final = 128 * 1024
"""The producer refuses larger messages: they carry references, not documents."""


class MessageTooLargeError(ValueError):
    """The encoded message is over `MAX_MESSAGE_BYTES`; `size` is its size in bytes."""

    def __init__(self, message_type: str, size: int) -> None:
        super().__init__(
            f"{message_type} comes to {size:,} bytes, the limit is {MAX_MESSAGE_BYTES:,}: "
            "store the content and pass a reference (its id) instead"
        )
        self.size = size


class Payload(BaseModel):
    """Base of all payloads: immutable; unknown fields from newer senders are ignored."""

    # Validators are built on first use: a service needs only a few of the system's types.
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


def _without_nul(value: str) -> str:
    # PostgreSQL cannot store U+0000 in text; refused here, where the reason is still clear.
    if "\x00" in value:
        raise ValueError("must not contain the character U+0000")
    return value


# Messages are frozen, so a message of a payload is also a message of the payload's base class.
PayloadT_co = TypeVar("PayloadT_co", bound=Payload, covariant=True)

WITHOUT_NUL: Final = AfterValidator(_without_nul)
"""The last item of an `Annotated`: limits before it are checked by compiled code, limits after it by Python code."""
MASKED: Final = Field(json_schema_extra={"x-masked": True})
"""An item of an `Annotated`: the field may hold a secret or a person's data. Lists of failed messages hide it."""
Text = Annotated[str, WITHOUT_NUL]
TypeName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$", max_length=100)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100), WITHOUT_NUL]
HttpUrl = Annotated[
    str, StringConstraints(pattern=r"^https?://[^\s/?#@\\]+([/?#]\S*)?$", max_length=2000), WITHOUT_NUL
]
"""An HTTP(S) address for browsers, without a user in front of the host."""
CorrelationId = Annotated[str, StringConstraints(max_length=200), WITHOUT_NUL]


class EnvelopeHead(BaseModel):
    """An envelope with an unchecked payload, for messages of a type not known yet."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    event_id: UUID
    """Identity of the message, the key of every inbox. UUIDv7 when made here; any UUID is accepted."""
    type: TypeName
    """`noun.verb`, such as `research.requested`; a breaking change is a new type, `research.completed.v2`."""
    source: Name
    """The service that sent it."""
    timestamp: AwareDatetime
    """When it was made, ISO 8601 with a zone."""
    correlation_id: CorrelationId | None = None
    """The same on every message of one chain."""
    causation_id: UUID | None = None
    """The `event_id` of the message that caused this one."""
    deadline: AwareDatetime | None = None
    """When the work of the chain must be done; messages that it causes carry it too."""
    max_cost: MaxCost | None = None
    """What the paid calls of the chain may cost together, in micro-dollars."""
    payload: dict[str, Any]

    @property
    def limits(self) -> ChainLimits:
        return _limits(self)


class DomainMessage(BaseModel, Generic[PayloadT_co]):
    """A message: an immutable envelope around one typed payload.

    Unknown fields are ignored on reading, so that a newer sender can add some.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    event_id: UUID
    type: TypeName
    source: Name
    timestamp: AwareDatetime
    correlation_id: CorrelationId | None = None
    causation_id: UUID | None = None
    deadline: AwareDatetime | None = None
    max_cost: MaxCost | None = None
    payload: PayloadT_co

    @property
    def limits(self) -> ChainLimits:
        return _limits(self)


def _limits(envelope: "EnvelopeHead | DomainMessage[Any]") -> ChainLimits:
    if envelope.deadline is None and envelope.max_cost is None:
        return NO_LIMITS
    return ChainLimits(envelope.deadline, envelope.max_cost)


Message = DomainMessage[Payload]
"""Any message: one of a payload is also one of the payload's base class."""


def encode(message: Message) -> bytes:
    """Encodes the message as JSON, the form it has on the wire.

    Raises:
        MessageTooLargeError: it is larger than `MAX_MESSAGE_BYTES`.
    """
    body = message.model_dump_json(exclude_none=True).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        raise MessageTooLargeError(message.type, len(body))
    return body


def new_event_id() -> UUID:
    """A UUIDv7: its first 48 bits are the milliseconds since 1970 (RFC 9562, section 5.7)."""
    return uuid7()
