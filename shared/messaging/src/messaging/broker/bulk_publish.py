"""Many publishes in one write: the frames of a batch are put together here and their confirms awaited together.

The client library (aiormq 7.x) would take one lock, one write, one drain and one future per message. A channel that is
published on this way is published on in no other: its confirms come from `messaging.broker.frames`.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import aiormq
import pamqp.encode
import structlog

from messaging.broker import frame_writing, frames
from messaging.errors import BrokerUnavailableError, QueueFullError, UnroutableError

log = structlog.get_logger(__name__)

_PERSISTENT: Final = b"\x02"
_MANDATORY: Final = b"\x01"
_FRAME_END: Final = b"\xce"
# Bits of the properties sent, AMQP 0-9-1 section 4.2.6.1: content type, headers, delivery mode; message id, type, app id.
_FLAGS: Final = 0x8000 | 0x2000 | 0x1000 | 0x0080 | 0x0020 | 0x0008
_WITH_CORRELATION_ID: Final = 0x0400
_WITH_USER_ID: Final = 0x0010
_frame_head = struct.Struct(">BHI").pack


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One message as it goes to the broker, persistent and mandatory; `message_id` is unique within a batch."""

    exchange: str
    routing_key: str
    body: bytes
    message_id: str
    type: str
    correlation_id: str | None
    app_id: str
    headers: dict[str, Any]
    user_id: str | None = None
    """The broker's name for the user of the publishing connection; the broker closes the channel on any other name."""

    def properties(self) -> bytes:
        """Encodes the content header's properties, flags first.

        Raises:
            ValueError, struct.error, pamqp.exceptions.PAMQPException: AMQP cannot express one of them.
        """
        _method(0, self.exchange, self.routing_key)  # what cannot be expressed shows here, not while sending
        flags = _FLAGS
        parts = [b"", b"\x10application/json", _table(self.headers), _PERSISTENT]
        if self.correlation_id is not None:
            flags |= _WITH_CORRELATION_ID
            parts.append(_short(self.correlation_id))
        parts += (_short(self.message_id), _short(self.type))
        if self.user_id is not None:
            flags |= _WITH_USER_ID
            parts.append(_short(self.user_id))
        parts.append(_short(self.app_id))
        parts[0] = flags.to_bytes(2, "big")
        return b"".join(parts)


def _table(headers: dict[str, Any]) -> bytes:
    return pamqp.encode.field_table(headers) if headers else b"\x00\x00\x00\x00"


def _short(value: str) -> bytes:
    encoded = value.encode()
    return len(encoded).to_bytes(1, "big") + encoded


@lru_cache(maxsize=256)
def _method(number: int, exchange: str, routing_key: str) -> bytes:
    payload = b"".join(
        (b"\x00\x3c\x00\x28\x00\x00", _short(exchange), _short(routing_key), _MANDATORY)
    )  # Basic.Publish, a reserved short, and the flags
    return _frame_head(1, number, len(payload)) + payload + _FRAME_END


def marshal(publication: OutgoingMessage, properties: bytes, number: int, frame_max: int) -> bytes:
    """The frames of one publish on channel `number`; no frame is longer than `frame_max` bytes (0: no limit)."""
    body = publication.body
    head = b"\x00\x3c\x00\x00" + len(body).to_bytes(8, "big") + properties
    parts = [
        _method(number, publication.exchange, publication.routing_key),
        _frame_head(2, number, len(head)),
        head,
        _FRAME_END,
    ]
    step = frame_max - 8 if frame_max else len(body) or 1
    for start in range(0, len(body), step):
        piece = body[start : start + step]
        parts += (_frame_head(3, number, len(piece)), piece, _FRAME_END)
    return b"".join(parts)


class _PublishBatch:
    """The publishes of one call, in the order of their tags, with the unconfirmed ones."""

    __slots__ = ("closed_by", "done", "errors", "first", "open", "sent")

    def __init__(
        self, first: int, publications: Sequence[OutgoingMessage], done: "asyncio.Future[None]"
    ) -> None:
        self.first = first
        self.sent = {
            (each.message_id, each.exchange, each.routing_key): index
            for index, each in enumerate(publications)
        }
        self.open = set(range(len(publications)))
        self.errors: dict[int, Exception] = {}
        self.done = done
        self.closed_by: BaseException | None = None
        """What closed the channel before all was settled."""

    def settle(self, up_to: int | None, only: int | None, error: Exception | None) -> None:
        settled = {only} & self.open if only is not None else {i for i in self.open if i <= (up_to or 0)}
        if error is not None:
            self.errors |= dict.fromkeys(settled - self.errors.keys(), error)
        self.open -= settled
        if not self.open and not self.done.done():
            self.done.set_result(None)


class BulkPublisher:
    """Publishes batches on one channel, several at a time."""

    def __init__(self, channel: aiormq.Channel) -> None:
        self._channel = channel
        self._next_tag = 1
        self._batches: deque[_PublishBatch] = deque()
        self.was_answered = False
        """Whether the broker has confirmed or refused anything yet."""

    @classmethod
    def on(cls, channel: aiormq.Channel) -> "BulkPublisher | None":
        """A publisher for an unused channel; None if the client library lacks the internals that this module needs."""
        if not hasattr(channel, "write_queue") or not hasattr(channel.connection, "connection_tune"):
            return None
        publisher = cls(channel)
        return publisher if frames.take_confirms(channel, publisher) else None

    async def send(
        self, publications: Sequence[OutgoingMessage], properties: Sequence[bytes]
    ) -> "_PublishBatch":
        """Writes the batch, unless the channel is closed; `wait` awaits its outcomes."""
        writable = await frame_writing.wait_for_room(self._channel)
        # Nothing is awaited from here on: tags count publishes in the order in which they are written.
        frame_max = self._channel.connection.connection_tune.frame_max
        number = self._channel.number
        wire = b"".join(
            marshal(publication, each, number, frame_max)
            for publication, each in zip(publications, properties, strict=True)
        )
        batch = _PublishBatch(self._next_tag, publications, asyncio.get_running_loop().create_future())
        self._next_tag += len(publications)
        self._batches.append(batch)
        if writable:
            frame_writing.write(self._channel, wire)
        return batch

    async def wait(self, batch: "_PublishBatch") -> None:
        """Returns once each message of the batch is confirmed, refused or returned, or the channel is closed."""
        closed = self._channel.closing
        try:
            await asyncio.wait({batch.done, closed}, return_when=asyncio.FIRST_COMPLETED)
            if closed.done() and not closed.cancelled():
                batch.closed_by = closed.exception()
        finally:
            closed.cancel()  # an observer of ours, made for this call
            self._batches = deque(each for each in self._batches if each is not batch)

    @staticmethod
    def outcomes(batch: "_PublishBatch") -> list[Exception | None]:
        """Per message None, or the reason why it has not or may not have arrived."""
        unconfirmed = BrokerUnavailableError("not confirmed in time, or the connection was lost")
        return [
            batch.errors.get(index, unconfirmed if index in batch.open else None)
            for index in range(len(batch.sent))
        ]

    # -- what the broker says ----------------------------------------------------------------------------------------

    def confirmed(self, tag: int, *, multiple: bool, accepted: bool) -> None:
        self.was_answered = True
        error = None if accepted else QueueFullError("a queue bound there refused it: full, or down")
        for batch in list(self._batches):
            index = tag - batch.first
            if index < 0:
                break
            if multiple:
                batch.settle(index, None, error)
            elif index < len(batch.sent):
                batch.settle(None, index, error)

    def returned(self, message_id: str | None, exchange: str, routing_key: str, reason: str) -> None:
        # Its confirm follows. The same message may be in two batches, to two places; if to the same one, both come
        # back, the older first.
        for batch in self._batches:
            index = batch.sent.get((message_id or "", exchange, routing_key))
            if index is not None and index in batch.open and index not in batch.errors:
                batch.errors[index] = UnroutableError(reason)
                return
        log.warning("returned_message_unknown", message_id=message_id, reason=reason)
