"""Decodes a delivery's bytes into a message, or into the reason why they are none."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from envelope import MAX_MESSAGE_BYTES, Catalogue, EnvelopeHead, Message, MessageKind
from messaging.broker.deliveries import Delivery
from messaging.flow.failures import Failure
from messaging.headers import Reason
from messaging.topology import COMMANDS


@dataclass(frozen=True, slots=True)
class NotAnEnvelope:
    """A body that cannot be read as an envelope, and so has no identity of its own."""

    detail: str
    reason: Reason = Reason.NOT_AN_ENVELOPE


@dataclass(frozen=True, slots=True)
class InvalidMessage:
    """An envelope with an identity that this queue cannot handle."""

    head: EnvelopeHead | Message
    failure: Failure


DecodeResult = Message | InvalidMessage | NotAnEnvelope
BodyDecoder = Callable[[bytes, str | None, dict[str, Any]], DecodeResult]
"""(body, AMQP type property, AMQP headers) → the result of decoding."""
DeliveryReader = Callable[[Delivery], DecodeResult]
"""Decodes a delivery, with its exchange, routing key and user taken into account."""


def event_id_in(body: bytes) -> UUID | None:
    """The `event_id` of a message; None if its body is no envelope."""
    try:
        return EnvelopeHead.model_validate_json(body).event_id
    except ValidationError:
        return None


def delivery_reader(decode: BodyDecoder) -> DeliveryReader:
    """A reader that decodes deliveries regardless of their exchange, routing key and user."""
    return lambda delivery: decode(delivery.body, delivery.type, delivery.headers)


def decoder(catalogue: Catalogue, handled: Collection[str], queue: str) -> BodyDecoder:
    """Builds the decoder for a queue whose handlers take the message types in `handled`."""
    accepted = {name: catalogue[name].envelope for name in handled}

    def decode(body: bytes, amqp_type: str | None, _headers: dict[str, Any]) -> DecodeResult:
        envelope = accepted.get(amqp_type or "")
        if envelope is not None and len(body) <= MAX_MESSAGE_BYTES:
            # Our own messages name their type in the AMQP properties too, so one pass over the body is enough.
            try:
                message = envelope.model_validate_json(body)
            except ValidationError:
                return _decode_thoroughly(body, catalogue, accepted, queue)
            if message.type == amqp_type:
                return message
        return _decode_thoroughly(body, catalogue, accepted, queue)

    return decode


def _decode_thoroughly(
    body: bytes, catalogue: Catalogue, accepted: dict[str, type[Message]], queue: str
) -> DecodeResult:
    if len(body) > MAX_MESSAGE_BYTES:
        return NotAnEnvelope(describe_too_large(body), Reason.TOO_LARGE)
    try:
        head = EnvelopeHead.model_validate_json(body)
    except ValidationError as error:
        return NotAnEnvelope(describe(error))
    envelope = accepted.get(head.type)
    if envelope is None:
        return InvalidMessage(
            head,
            Failure(
                Reason.UNKNOWN_TYPE, "UnknownMessageType", _describe_misplaced(head.type, catalogue, queue)
            ),
        )
    try:
        return envelope.model_validate_json(body)
    except ValidationError as error:
        return InvalidMessage(head, Failure(Reason.INVALID_PAYLOAD, "ValidationError", describe(error)))


def _describe_misplaced(name: str, catalogue: Catalogue, queue: str) -> str:
    """The reason why a queue's consumer does not take a type, and the remedy."""
    entry = catalogue.get(name)
    if entry is None:
        return f"{name}: the catalogue has no such type (queue {queue}); deploy a consumer that knows it, then replay"
    if entry.queue == queue:
        return f"{name}: no handler of this queue takes it (queue {queue}); deploy a consumer that does, then replay"
    way = (
        f"the exchange {COMMANDS} with the routing key {entry.queue}"
        if entry.kind is MessageKind.COMMAND
        else f"the exchange {catalogue.events} with its type as routing key"
    )
    return f"{name}: handled from the queue {entry.queue}, not from {queue}: send it to {way}, then discard this one"


def describe_unreadable(body: NotAnEnvelope) -> str:
    """The reason why a body is no envelope, as one sentence."""
    return body.detail if body.reason is Reason.TOO_LARGE else f"the body is no envelope: {body.detail}"


def describe_too_large(body: bytes) -> str:
    """The reason for a body over the size limit, which is not parsed at all."""
    return (
        f"{len(body):,} bytes, over the limit of {MAX_MESSAGE_BYTES:,}: its sender has to store the content and pass a "
        "reference (its id) instead"
    )


def describe(error: ValidationError) -> str:
    """The validation errors in one line, `field: problem`, without the input, which may be huge or secret."""
    return "; ".join(
        f"{'.'.join(str(part) for part in detail['loc']) or 'body'}: {detail['msg']}"
        for detail in error.errors(include_input=False, include_url=False, include_context=False)[:10]
    )[:2000].replace("\x00", "\N{REPLACEMENT CHARACTER}")
