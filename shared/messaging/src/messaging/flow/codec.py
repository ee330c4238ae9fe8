"""From a delivery's bytes to a message, or to the reason why it is none."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from envelope import MAX_MESSAGE_BYTES, Catalogue, EnvelopeHead, Message
from messaging.flow.failures import Failure
from messaging.headers import Reason


@dataclass(frozen=True, slots=True)
class NotAnEnvelope:
    """The body cannot be read as an envelope at all, so it has no identity of its own."""

    detail: str


@dataclass(frozen=True, slots=True)
class Invalid:
    """An envelope with an identity, but nothing that this queue could handle."""

    head: EnvelopeHead
    failure: Failure


Decoded = Message | Invalid | NotAnEnvelope
Decode = Callable[[bytes, str | None, dict[str, Any]], Decoded]
"""(body, AMQP type property, AMQP headers) → what it is."""


def decoder(catalogue: Catalogue, handled: Collection[str], queue: str) -> Decode:
    """A decoder for a queue whose handlers take the message types `handled`."""
    accepted = {name: catalogue[name].envelope for name in handled}

    def decode(body: bytes, amqp_type: str | None, _headers: dict[str, Any]) -> Decoded:
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
) -> Decoded:
    if len(body) > MAX_MESSAGE_BYTES:
        return NotAnEnvelope(f"{len(body):,} bytes, over the limit of {MAX_MESSAGE_BYTES:,}")
    try:
        head = EnvelopeHead.model_validate_json(body)
    except ValidationError as error:
        return NotAnEnvelope(describe(error))
    envelope = accepted.get(head.type)
    if envelope is None:
        known = (
            "no handler of this queue takes it"
            if head.type in catalogue
            else "the catalogue has no such type"
        )
        detail = f"{head.type}: {known} (queue {queue}); deploy a consumer that knows it, then replay"
        return Invalid(head, Failure(Reason.UNKNOWN_TYPE, "UnknownMessageType", detail))
    try:
        return envelope.model_validate_json(body)
    except ValidationError as error:
        return Invalid(head, Failure(Reason.INVALID_PAYLOAD, "ValidationError", describe(error)))


def describe(error: ValidationError) -> str:
    """The errors in one line, `field: what is wrong`, without the input: it may be huge or secret."""
    return "; ".join(
        f"{'.'.join(str(part) for part in detail['loc']) or 'body'}: {detail['msg']}"
        for detail in error.errors(include_input=False, include_url=False, include_context=False)[:10]
    )[:2000].replace("\x00", "\N{REPLACEMENT CHARACTER}")
