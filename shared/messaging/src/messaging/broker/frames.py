"""Reads the broker's frames: deliveries and confirms go from the socket straight to their receivers.

The client library (aiormq 7.x) awaits three times per frame, unmarshals all of it and starts two tasks per delivery: two thirds
of a consumer's CPU time, measured here. `install` puts `FrameReader` between the library's socket and its frame handling.
`FrameReader` reads all available bytes at once, hands deliveries and confirms to their receivers and passes other frames on
unchanged. It relies on one internal, the method that loops over frames. If that is missing, nothing is installed, and the
library's slower way works the same.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

import aiormq
import pamqp.decode
import pamqp.frame
import structlog
from aiormq.connection import Connection as UnderlayConnection
from pamqp.exceptions import PAMQPException
from pamqp.heartbeat import Heartbeat

from messaging.broker.deliveries import Delivery

log = structlog.get_logger(__name__)

READ_BYTES: Final = 256 * 1024
_FRAME_END: Final = 0xCE
_METHOD, _HEADER, _BODY = 1, 2, 3
_DELIVER: Final = struct.pack(">HH", 60, 60)
_CONSUME_OK: Final = struct.pack(">HH", 60, 21)
_CANCEL: Final = struct.pack(">HH", 60, 30)
_CANCEL_OK: Final = struct.pack(">HH", 60, 31)
_RETURN: Final = struct.pack(">HH", 60, 50)
_ACK: Final = struct.pack(">HH", 60, 80)
_NACK: Final = struct.pack(">HH", 60, 120)
_frame_head: Final = struct.Struct(">BHI").unpack_from
_content_head: Final = struct.Struct(">HHQH").unpack_from
_tag_and_flag: Final = struct.Struct(">QB").unpack_from
_READER_METHOD: Final = "_Connection__reader"


class DeliveryReceiver(Protocol):
    """The owner of a consume callback that takes deliveries directly, without a task for each."""

    def take(self, delivery: Delivery) -> None: ...

    def cancelled(self, tag: str) -> None:
        """The consumer has ended, by our request or the broker's; the client library does not know it yet."""


class ConfirmReceiver(Protocol):
    """Receives the confirms and returns of a publishing channel."""

    def confirmed(self, tag: int, *, multiple: bool, accepted: bool) -> None: ...

    def returned(self, message_id: str | None, exchange: str, routing_key: str, reason: str) -> None: ...


class _PartialContent:
    """A delivery or a returned message that is not read completely yet."""

    __slots__ = ("body", "done", "headers", "message_id", "missing", "readable", "type", "user_id")

    def __init__(self, done: "Callable[[_PartialContent], None]") -> None:
        self.done = done
        self.missing = -1
        """Bytes of the body still to come; -1: the content header is."""
        self.body: list[bytes] = []
        self.type: str | None = None
        self.user_id: str | None = None
        self.message_id: str | None = None
        self.headers: dict[str, Any] = {}
        self.readable = True


_readers: "WeakKeyDictionary[UnderlayConnection, FrameReader]" = WeakKeyDictionary()
_takers: "WeakKeyDictionary[Any, None]" = WeakKeyDictionary()


def install() -> bool:
    """Reads the frames of all connections opened from now on; returns False if the client library has changed inside."""
    original = getattr(UnderlayConnection, _READER_METHOD, None)
    if original is None:
        log.warning("frames_read_slowly", hint="the client library has changed inside")
        return False
    if not hasattr(original, "__wrapped__"):

        @wraps(original)
        async def read(connection: UnderlayConnection, receiver: Any) -> None:
            reader = FrameReader(connection, receiver.reader)
            _readers[connection] = reader
            await original(connection, reader)

        setattr(UnderlayConnection, _READER_METHOD, read)
    return True


def take_confirms(channel: aiormq.Channel, taker: ConfirmReceiver) -> bool:
    """Passes all confirms and returns of a channel to `taker`; returns False if the library reads the frames."""
    reader = _readers.get(channel.connection)  # type: ignore[call-overload]
    if reader is None:
        return False
    reader.confirms[channel.number] = taker
    return True


def take_deliveries(owner: DeliveryReceiver) -> None:
    """Makes `owner.take` receive deliveries whose consume callback is a method of `owner`."""
    _takers[owner] = None


def count_reads(connection: Any) -> int:
    """The number of reads with data on a connection so far; a change shows that it is alive."""
    reader = _readers.get(connection)
    return 0 if reader is None else reader.heard


def abort(connection: Any) -> None:
    """Closes a connection at once, without a goodbye to a peer that may never answer."""
    reader = _readers.get(connection)
    transport = None if reader is None else reader.transport
    if transport is not None:
        transport.abort()
    else:
        connection.create_task(connection.close())  # the client library's own way, which takes longer


def confirmed_consumers(channel: Any) -> set[str]:
    """Tags of the consumers that the broker has confirmed; if the library reads the frames, of all requested ones."""
    reader = _readers.get(channel.connection)
    if reader is None:
        return set(channel.consumers)
    confirmed_on, tags = reader.consuming.get(channel.number, (None, set()))
    return set(tags) if confirmed_on is channel else set()


class FrameReader:
    """Iterates over the frames for the client library, and handles the others."""

    def __init__(self, connection: UnderlayConnection, stream: asyncio.StreamReader) -> None:
        self._connection = connection
        self._stream = stream
        self._rest = b""
        self.heard = 0
        self.consuming: dict[int, tuple[Any, set[str]]] = {}
        """Per number the channel, since numbers are used again, and the tags of consumers that the broker has confirmed and not ended."""
        self._frames: deque[Any] = deque()
        self._contents: dict[int, _PartialContent] = {}
        self.confirms: dict[int, ConfirmReceiver] = {}
        self._ending: asyncio.Future[None] | None = None

    @property
    def transport(self) -> Any:
        return getattr(self._stream, "_transport", None)

    def __aiter__(self) -> "FrameReader":
        return self

    async def __anext__(self) -> Any:
        if not self._frames:
            await self._read()
        return self._frames.popleft()

    async def _read(self) -> None:
        try:
            data = await self._stream.read(READ_BYTES)
        except OSError as error:
            raise aiormq.exceptions.AMQPConnectionError(f"cannot read from the broker: {error!r}") from error
        if not data:
            raise aiormq.exceptions.AMQPConnectionError("the broker closed the connection")
        self.heard += 1
        try:
            self._split(self._rest + data if self._rest else data)
        except (PAMQPException, struct.error, IndexError) as error:
            raise aiormq.exceptions.InvalidFrameError(str(error)) from error
        if not self._frames:
            # The library takes the last frame it has seen for the last sign of life; all of these passed it by.
            self._frames.append((0, 0, Heartbeat()))

    def _split(self, data: bytes) -> None:
        at, size = 0, len(data)
        while size - at > 7:  # noqa: PLR2004  (the head of a frame: type, channel, length)
            kind, number, length = _frame_head(data, at)
            end = at + 7 + length
            if end >= size:
                break
            if data[end] != _FRAME_END:
                raise IndexError("a frame does not end where it says")
            if not self._take(kind, number, data, at + 7, end):
                self._frames.append(pamqp.frame.unmarshal(data[at : end + 1]))
            at = end + 1
        self._rest = data[at:]

    def _take(self, kind: int, number: int, data: bytes, at: int, end: int) -> bool:
        """Handles the frame with the payload `data[at:end]`; returns False if the library must handle it."""
        if kind == _METHOD:
            self._contents.pop(number, None)
            if data[at : at + 4] == _DELIVER:
                return self._deliver(number, data, at + 4, end)
            if data[at : at + 4] == _CONSUME_OK:
                self._note_consumer(number, data[at + 5 : end].decode(errors="replace"))
            elif data[at : at + 4] in (_CANCEL, _CANCEL_OK):
                self._note_cancel(number, data[at + 5 : at + 5 + data[at + 4]].decode(errors="replace"))
            taker = self.confirms.get(number)
            return taker is not None and self._take_confirm(taker, number, data, at)
        content = self._contents.get(number)
        if content is None:
            return False
        if kind == _HEADER:
            _read_content_head(content, data, at, end)
        elif kind == _BODY:
            content.body.append(data[at:end])
            content.missing -= end - at
        if content.missing == 0:
            del self._contents[number]
            content.done(content)
        return True

    def _note_consumer(self, number: int, tag: str) -> None:
        channel = self._connection.channels.get(number)
        if number not in self.consuming or self.consuming[number][0] is not channel:
            self.consuming[number] = channel, set()
        self.consuming[number][1].add(tag)

    def _note_cancel(self, number: int, tag: str) -> None:
        channel = self._connection.channels.get(number)
        confirmed_on, tags = self.consuming.get(number, (None, set()))
        if channel is None or confirmed_on is not channel:
            return
        tags.discard(tag)
        owner = _owner(channel.consumers.get(tag))  # type: ignore[attr-defined]
        if owner is not None:
            owner.cancelled(tag)

    def _take_confirm(self, taker: ConfirmReceiver, number: int, data: bytes, at: int) -> bool:
        method = data[at : at + 4]
        if method in (_ACK, _NACK):
            tag, flags = _tag_and_flag(data, at + 4)
            taker.confirmed(tag, multiple=bool(flags & 1), accepted=method == _ACK)
        elif method == _RETURN:
            exchange, routing_key, reason = _return_facts(data, at + 4)
            self._contents[number] = _PartialContent(
                lambda content: taker.returned(content.message_id, exchange, routing_key, reason)
            )
        else:
            return False
        return True

    def _deliver(self, number: int, data: bytes, at: int, end: int) -> bool:
        channel = self._connection.channels.get(number)
        length = data[at]
        at += 1
        consumer, name = None, data[at : at + length].decode(errors="replace")
        if channel is not None:
            consumer = channel.consumers.get(name)  # type: ignore[attr-defined]
        owner = _owner(consumer)
        if owner is None:
            if consumer is None:
                self._close_connection(number, name)
            return False
        tag, redelivered = _tag_and_flag(data, at + length)
        published_to = data[at + length + 9 : end]

        def deliver(content: _PartialContent) -> None:
            body = content.body[0] if len(content.body) == 1 else b"".join(content.body)
            owner.take(
                Delivery(
                    channel,
                    tag,
                    body,
                    content.type,
                    content.headers,
                    redelivered == 1,
                    content.readable,
                    content.user_id,
                    published_to,
                )
            )

        self._contents[number] = _PartialContent(deliver)
        return True

    def _close_connection(self, number: int, name: str) -> None:
        """Closes a connection on which the broker delivers to a consumer that this process does not know.

        Overlapping recoveries of the client library can leave one behind. Its deliveries would be dropped, and a whole prefetch of them
        would stay lost as long as the connection lives.
        """
        if self._ending is None:
            log.error("delivery_without_consumer", channel=number, consumer=name)
            error = aiormq.exceptions.AMQPConnectionError("deliveries came for a consumer that nobody knows")
            self._ending = asyncio.ensure_future(self._connection.close(error))


def _owner(consumer: Any) -> DeliveryReceiver | None:
    """The owner of the callback that `consume` got; the library keeps the callback in a `functools.partial`."""
    arguments = getattr(consumer, "args", None)
    owner = getattr(arguments[0], "__self__", None) if arguments else None
    return owner if owner is not None and owner in _takers else None


def _read_content_head(content: _PartialContent, data: bytes, at: int, end: int) -> None:
    _class, _weight, content.missing, flags = _content_head(data, at)
    try:
        _read_properties(content, flags, data, at + 14, end)
    except Exception:
        # Whatever a stranger wrote there, its message must reach the handler that says so, not end the connection.
        log.exception("properties_unreadable")
        content.headers, content.readable = {}, False


def _read_properties(content: _PartialContent, flags: int, data: bytes, at: int, end: int) -> None:
    """Reads the properties in the order of AMQP 0-9-1, section 4.2.6.1, and skips unused ones."""
    if flags & 0x8000:  # content type
        at += 1 + data[at]
    if flags & 0x4000:  # content encoding
        at += 1 + data[at]
    if flags & 0x2000:
        length = int.from_bytes(data[at : at + 4], "big")
        if length:
            content.headers = pamqp.decode.field_table(data[at : at + 4 + length])[1]
        at += 4 + length
    at += bool(flags & 0x1000) + bool(flags & 0x0800)  # delivery mode, priority: one byte each
    for flag in (0x0400, 0x0200, 0x0100):  # correlation id, reply to, expiration
        if flags & flag:
            at += 1 + data[at]
    if flags & 0x0080:
        content.message_id = data[at + 1 : at + 1 + data[at]].decode(errors="replace")
        at += 1 + data[at]
    if flags & 0x0040:  # timestamp
        at += 8
    _read_names(content, flags, data, at, end)


def _read_names(content: _PartialContent, flags: int, data: bytes, at: int, end: int) -> None:
    """Reads message type and user id, from the position of these properties."""
    if flags & 0x0020 and at < end:
        content.type = data[at + 1 : at + 1 + data[at]].decode(errors="replace")
        at += 1 + data[at]
    if flags & 0x0010 and at < end:
        content.user_id = data[at + 1 : at + 1 + data[at]].decode(errors="replace")


def _return_facts(data: bytes, at: int) -> tuple[str, str, str]:
    """Exchange, routing key and reason (`312 NO_ROUTE for exchange …`) from the arguments of Basic.Return."""
    code = int.from_bytes(data[at : at + 2], "big")
    texts = []
    at += 2
    for _ in range(3):
        texts.append(data[at + 1 : at + 1 + data[at]].decode(errors="replace"))
        at += 1 + data[at]
    text, exchange, key = texts
    return exchange, key, f"{code} {text} for exchange {exchange!r}, routing key {key!r}"
