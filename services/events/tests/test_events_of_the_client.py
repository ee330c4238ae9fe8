"""`events()` of the client's front: what happens, as it happens, over connections that break."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from client import AddressError, AsyncBrandEngine, BrandEngine, RefusedError
from client.errors import StrangeAnswerError
from client.event_stream import MAX_EVENT_BYTES, EventStreamReader
from events.app import EventsService
from tests.fixtures.event_log import KEY, Report, published
from tests.fixtures.interrupting_proxy import interrupting


async def take(events: AsyncIterator[dict[str, Any]], number: int) -> list[str]:
    async def some() -> list[str]:
        return [(await anext(events))["id"] for _ in range(number)]

    return await asyncio.wait_for(some(), 120)


async def test_events_come_once_each_over_connections_that_break(
    service: EventsService, report: Report
) -> None:
    (first,) = await report(published())
    async with (
        interrupting(f"http://127.0.0.1:{service.port}") as proxy,
        AsyncBrandEngine("http://127.0.0.1:1", KEY, events_url=proxy.url) as engine,
    ):
        events = engine.events(brand="acme", types=["content.published"], after="0")
        assert await take(events, 1) == [str(first)]
        # The next part, which has an event, breaks off in the middle.
        proxy.losses, proxy.bytes_before_cut = 1, 60
        ids = await report(published(), published("other"), published())
        assert await take(events, 2) == [str(ids[0]), str(ids[2])]
        assert proxy.lost == 1
        await events.aclose()  # type: ignore[attr-defined]


async def test_without_a_place_it_begins_with_what_comes(service: EventsService, report: Report) -> None:
    await report(published())
    url = f"http://127.0.0.1:{service.port}"

    def first_of() -> str:
        with BrandEngine("http://127.0.0.1:1", KEY, events_url=url) as engine:
            return str(next(engine.events())["id"])

    reading = asyncio.create_task(asyncio.to_thread(first_of))
    sent: set[str] = set()
    while not reading.done():
        sent |= {str(each) for each in await report(published())}
    assert await reading in sent


async def test_refusals_are_told(service: EventsService) -> None:
    url = f"http://127.0.0.1:{service.port}"
    async with AsyncBrandEngine("http://127.0.0.1:1", "be_wrong", events_url=url) as engine:
        with pytest.raises(RefusedError):
            await anext(engine.events())
    async with AsyncBrandEngine("http://127.0.0.1:1", KEY) as engine:
        with pytest.raises(AddressError, match="events_url"):
            await anext(engine.events())


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_parts_may_end_anywhere(size: int) -> None:
    text = ': hello\r\nretry: 2000\r\n\r\nid: 7\nevent: x\ndata: {"a":\ndata: "ä"}\n\nid: 8\n\ndata: {"b": 1}\n\n'.encode()
    reader = EventStreamReader()
    found = [
        (event, reader.last_id)
        for begin in range(0, len(text), size)
        for event in reader.feed(text[begin : begin + size])
    ]
    assert found == [({"a": "ä"}, "7"), ({"b": 1}, "8")]


@pytest.mark.parametrize("text", [b"data: no JSON\n\n", b"data: [1]\n\n", b"x" * (MAX_EVENT_BYTES + 1)])
def test_what_is_no_stream_of_ours_is_refused(text: bytes) -> None:
    with pytest.raises(StrangeAnswerError):
        list(EventStreamReader().feed(text))
