"""Frames as they come off the wire, cut anywhere: some are handed over, the others are left to the client library."""

import asyncio
import random
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import aiormq
import pamqp.frame
import pytest
from pamqp import commands
from pamqp.base import Frame
from pamqp.body import ContentBody
from pamqp.header import ContentHeader
from pamqp.heartbeat import Heartbeat

from messaging.broker import frames
from messaging.broker.bulk_publish import BulkPublisher, OutgoingMessage, marshal
from messaging.broker.deliveries import Delivery
from messaging.errors import BrokerUnavailableError, QueueFullError, UnroutableError


class Owner:
    def __init__(self) -> None:
        self.taken: list[Delivery] = []
        self.ended: list[str] = []

    def take(self, delivery: Delivery) -> None:
        self.taken.append(delivery)

    def cancelled(self, tag: str) -> None:
        self.ended.append(tag)

    async def consume(self, message: object) -> None:
        raise AssertionError("the quick way was not taken")


class Wire:
    """A reader fed with bytes, and the frames that it passes on."""

    def __init__(self) -> None:
        self.owner = Owner()
        frames.take_deliveries(self.owner)
        consumers = {
            "ours": partial(print, self.owner.consume, no_ack=False),
            "theirs": partial(print, lambda: None),
        }
        self.channel = SimpleNamespace(consumers=consumers)
        self.stream = asyncio.StreamReader()
        self.reader = frames.FrameReader(SimpleNamespace(channels={1: self.channel}), self.stream)
        self.passed: list[Any] = []

    async def feed(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.stream.feed_data(piece)
            self.passed.append(await anext(self.reader))
            self.passed += [await anext(self.reader) for _ in range(len(self.reader._frames))]


def wire(*parts: Frame | ContentHeader | ContentBody) -> bytes:
    return b"".join(pamqp.frame.marshal(part, 1) for part in parts)


def delivery(body: bytes, tag: int = 1, consumer: str = "ours", **properties: Any) -> bytes:
    return wire(
        commands.Basic.Deliver(consumer, tag, tag % 2 == 0, "commands", "research-commands"),
        ContentHeader(body_size=len(body), properties=commands.Basic.Properties(**properties)),
        *(ContentBody(body[start : start + 1000]) for start in range(0, len(body), 1000)),
    )


FULL = {
    "content_type": "application/json",
    "content_encoding": "utf-8",
    "headers": {"attempt": 2, "failure-message": "words", "nested": {"list": [1, "two"]}},
    "delivery_mode": 2,
    "priority": 3,
    "correlation_id": "c",
    "reply_to": "r",
    "expiration": "1000",
    "message_id": "m",
    "timestamp": datetime(2026, 1, 2, tzinfo=UTC),
    "message_type": "research.requested",
    "user_id": "u",
    "app_id": "a",
}


async def test_deliveries_are_handed_over_however_the_bytes_are_cut() -> None:
    bodies = [b"", b"{}", b"x" * 999, b"y" * 1000, bytes(range(256)) * 20]
    stream = b"".join(
        delivery(body, tag, **(FULL if tag % 2 else {})) for tag, body in enumerate(bodies * 4, start=1)
    )
    for seed in range(30):
        pick = random.Random(seed)
        cuts = sorted(pick.sample(range(1, len(stream)), pick.choice([0, 1, 5, 60])))
        wires = Wire()
        await wires.feed(
            *(stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True))
        )
        assert [each.body for each in wires.owner.taken] == bodies * 4
        assert [each.tag for each in wires.owner.taken] == list(range(1, 21))
        assert [each.redelivered for each in wires.owner.taken] == [False, True] * 10
        assert {each.type for each in wires.owner.taken[::2]} == {"research.requested"}
        assert all(each.headers == FULL["headers"] for each in wires.owner.taken[::2])
        assert all((each.type, each.headers) == (None, {}) for each in wires.owner.taken[1::2])
        assert all(each.channel is wires.channel for each in wires.owner.taken)
        # The library still hears that the connection is alive.
        assert {type(frame) for _, _, frame in wires.passed} == {Heartbeat}


@pytest.mark.extended
async def test_every_combination_of_properties_is_read() -> None:
    names = list(FULL)
    wires = Wire()
    for number in range(2 ** len(names)):
        chosen = {name: FULL[name] for bit, name in enumerate(names) if number >> bit & 1}
        wires.reader._split(wires.reader._rest + delivery(b"1", **chosen))
        taken = wires.owner.taken.pop()
        assert (taken.type, taken.headers) == (chosen.get("message_type"), chosen.get("headers", {}))


async def test_what_is_not_ours_is_passed_on_unchanged() -> None:
    wires = Wire()
    await wires.feed(delivery(b"body", consumer="theirs"), wire(commands.Basic.ConsumeOk("ours")))
    assert [frame.name for _, _, frame in wires.passed] == [
        "Basic.Deliver",
        "ContentHeader",
        "ContentBody",
        "Basic.ConsumeOk",
    ]
    assert wires.owner.taken == []


async def test_who_consumes_hears_of_the_end_of_its_consumer_before_the_client_library_does() -> None:
    wires = Wire()
    await wires.feed(wire(commands.Basic.ConsumeOk("ours"), commands.Basic.ConsumeOk("theirs")))
    await wires.feed(wire(commands.Basic.Cancel("theirs", True)), wire(commands.Basic.Cancel("ours", True)))
    assert wires.owner.ended == ["ours"]
    assert [frame.consumer_tag for _, _, frame in wires.passed] == ["ours", "theirs", "theirs", "ours"]
    assert wires.reader.consuming == {1: (wires.channel, set())}


async def test_a_connection_that_serves_a_consumer_nobody_knows_is_ended_once() -> None:
    wires = Wire()
    ended: list[BaseException] = []

    async def close(reason: BaseException) -> None:
        ended.append(reason)

    wires.reader._connection.close = close
    await wires.feed(delivery(b"1", consumer="forgotten") + delivery(b"2", 2, consumer="forgotten"))
    await asyncio.sleep(0)
    assert [str(reason) for reason in ended] == ["deliveries came for a consumer that nobody knows"]
    assert wires.owner.taken == []


async def test_properties_that_cannot_be_read_cost_the_message_only_its_properties() -> None:
    wires = Wire()
    good = delivery(b"body", headers={"a": "b"}, message_type="research.requested")
    bad = good.replace(b"\x01aS", b"\x01a?")  # a field of a type that does not exist
    assert bad != good
    await wires.feed(bad + good)
    assert [(each.body, each.headers) for each in wires.owner.taken] == [(b"body", {}), (b"body", {"a": "b"})]


@pytest.mark.parametrize(
    "garbage", [b"\x01\x00\x01\x00\x00\x00\x01xy" * 2, b"\x09\x00\x01\x00\x00\x00\x01x\xce"]
)
async def test_bytes_that_are_no_frames_end_the_connection(garbage: bytes) -> None:
    with pytest.raises(aiormq.exceptions.InvalidFrameError):
        await Wire().feed(garbage)


async def test_the_end_of_the_stream_is_the_end_of_the_connection() -> None:
    wires = Wire()
    wires.stream.feed_eof()
    with pytest.raises(aiormq.exceptions.AMQPConnectionError):
        await anext(wires.reader)


def publication(number: int, body: bytes = b"{}", **changes: Any) -> OutgoingMessage:
    values = {
        "exchange": "commands",
        "routing_key": "research-commands",
        "body": body,
        "message_id": f"m{number}",
    }
    return OutgoingMessage(
        **values | {"type": "a.b", "correlation_id": None, "app_id": "x", "headers": {}} | changes
    )


@pytest.mark.parametrize("size", [0, 1, 4088, 4089, 20_000])
@pytest.mark.parametrize("correlation_id", [None, "chain-1"])
@pytest.mark.parametrize("headers", [{}, {"attempt": 3, "failure-message": "wörds"}])
def test_what_is_published_is_what_the_client_library_would_read(size, correlation_id, headers) -> None:
    sent = publication(1, b"z" * size, correlation_id=correlation_id, headers=headers)
    data = marshal(sent, sent.properties(), 7, 4096)
    read: list[Any] = []
    while data:
        used, number, frame = pamqp.frame.unmarshal(data)
        assert number == 7
        assert used <= 4096
        read.append(frame)
        data = data[used:]
    method, head, *pieces = read
    assert (method.exchange, method.routing_key, method.mandatory) == ("commands", "research-commands", True)
    assert head.body_size == size
    properties = head.properties
    assert (properties.delivery_mode, properties.message_id, properties.message_type) == (2, "m1", "a.b")
    assert (properties.content_type, properties.app_id) == ("application/json", "x")
    assert (properties.correlation_id, properties.headers) == (correlation_id, headers)
    assert b"".join(piece.value for piece in pieces) == b"z" * size


def test_what_amqp_cannot_express_is_refused_before_anything_is_sent() -> None:
    for field in ("correlation_id", "exchange", "routing_key", "message_id", "type"):
        with pytest.raises(OverflowError):
            publication(1, **{field: "x" * 300}).properties()


class Channel:
    """What the publisher sees of a channel: a number, a queue to write to, and whether it is closed."""

    def __init__(self) -> None:
        self.number = 1
        self.connection = SimpleNamespace(
            channels={1: self}, connection_tune=SimpleNamespace(frame_max=131072)
        )
        self.write_queue: asyncio.Queue[Any] = asyncio.Queue(2)
        self._closed = asyncio.get_running_loop().create_future()

    @property
    def is_closed(self) -> bool:
        return self._closed.done()

    @property
    def closing(self) -> asyncio.Future[None]:
        return asyncio.ensure_future(asyncio.shield(self._closed))

    def close(self) -> None:
        self._closed.set_result(None)


async def sent(publisher: BulkPublisher, count: int) -> Any:
    each = [publication(number) for number in range(count)]
    return await publisher.send(each, [one.properties() for one in each])


async def test_confirms_are_counted_over_batches() -> None:
    publisher = BulkPublisher(Channel())
    first, second = await sent(publisher, 3), await sent(publisher, 3)
    publisher.confirmed(2, multiple=False, accepted=True)
    assert not first.done.done()
    publisher.confirmed(4, multiple=True, accepted=True)
    await publisher.wait(first)
    assert publisher.outcomes(first) == [None, None, None]
    publisher.confirmed(6, multiple=False, accepted=False)
    publisher.confirmed(5, multiple=False, accepted=True)
    await publisher.wait(second)
    outcomes = publisher.outcomes(second)
    assert outcomes[:2] == [None, None]
    assert isinstance(outcomes[2], QueueFullError)


async def test_a_returned_message_is_unroutable_although_it_is_confirmed() -> None:
    publisher = BulkPublisher(Channel())
    first, second = await sent(publisher, 2), await sent(publisher, 2)
    publisher.returned("m1", "commands", "elsewhere", "312 NO_ROUTE")
    publisher.returned("m1", "commands", "research-commands", "312 NO_ROUTE")
    publisher.confirmed(4, multiple=True, accepted=True)
    assert publisher.outcomes(second) == [None, None]
    outcomes = publisher.outcomes(first)
    assert outcomes[0] is None
    assert isinstance(outcomes[1], UnroutableError)


async def test_a_lost_channel_leaves_the_unconfirmed_in_doubt() -> None:
    channel = Channel()
    publisher = BulkPublisher(channel)
    batch = await sent(publisher, 2)
    publisher.confirmed(1, multiple=False, accepted=True)
    channel.close()
    await publisher.wait(batch)
    outcomes = publisher.outcomes(batch)
    assert outcomes[0] is None
    assert isinstance(outcomes[1], BrokerUnavailableError)


async def test_batches_that_waited_for_the_writer_are_counted_in_the_order_they_are_written() -> None:
    channel = Channel()
    publisher = BulkPublisher(channel)
    sending = [asyncio.ensure_future(sent(publisher, count)) for count in (1, 2, 3, 4, 5)]
    written = []
    for _ in sending:
        frame = await channel.write_queue.get()
        written.append(frame.payload.count(b"application/json"))
        await asyncio.sleep(0.01)
    batches = {len(batch.sent): batch for batch in await asyncio.gather(*sending)}
    assert sorted(written) == [1, 2, 3, 4, 5]
    assert [batches[count].first for count in written] == [1 + sum(written[:n]) for n in range(5)]


async def test_a_batch_that_waits_for_a_writer_which_has_ended_is_in_doubt() -> None:
    channel = Channel()
    publisher = BulkPublisher(channel)
    await sent(publisher, 1), await sent(publisher, 1)
    waiting = asyncio.ensure_future(sent(publisher, 1))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    channel.close()
    batch = await waiting
    await publisher.wait(batch)
    assert all(isinstance(error, BrokerUnavailableError) for error in publisher.outcomes(batch))
