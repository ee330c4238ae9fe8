"""The live stream of events, over real connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from chassis.testing import eventually
from envelope.brand.payloads import DatabaseFellBack
from events.app import EventsService
from events.live import follower
from events.log.domain import EventFilter
from tests.fixtures.event_log import Report, published


@asynccontextmanager
async def stream(
    api: httpx.AsyncClient, *, headers: dict[str, str] | None = None, **query: Any
) -> AsyncIterator[AsyncIterator[dict[str, str]]]:
    """The fields of each event, as they come."""
    async with api.stream("GET", "/v1/events/live", params=query, headers=headers or {}) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield events_of(answer)


async def events_of(answer: httpx.Response) -> AsyncIterator[dict[str, str]]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if not line:
            if "data" in fields:
                yield fields
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


async def take(events: AsyncIterator[dict[str, str]], number: int) -> list[dict[str, str]]:
    async def some() -> list[dict[str, str]]:
        return [await anext(events) for _ in range(number)]

    return await asyncio.wait_for(some(), 120)


async def test_events_come_as_they_happen_and_only_those_that_are_wanted(
    api: httpx.AsyncClient, report: Report
) -> None:
    await report(published())
    async with stream(api) as every, stream(api, brand="acme", types="content.published") as some:
        ids = await report(published(), published("other"), published())
        told = await take(every, 3)
        assert {json.loads(each["data"])["id"] for each in told} == {str(each) for each in ids}
        assert [(each["event"], int(each["id"])) for each in told] == [
            ("content.published", 2),
            ("content.published", 3),
            ("content.published", 4),
        ]
        assert json.loads(told[0]["data"])["sequence"] == f"{2:019}"
        assert {json.loads(each["data"])["brand"] for each in await take(some, 2)} == {"acme"}


async def test_a_client_that_connects_again_misses_nothing(api: httpx.AsyncClient, report: Report) -> None:
    await report(*(published() for _ in range(5)))
    async with stream(api, headers={"Last-Event-ID": "2"}) as events:
        assert [each["id"] for each in await take(events, 3)] == ["3", "4", "5"]
        await report(published())
        assert [each["id"] for each in await take(events, 1)] == ["6"]
    async with stream(api, after=5) as events:
        assert [each["id"] for each in await take(events, 1)] == ["6"]


async def test_one_that_is_far_behind_gets_all(
    service: EventsService, api: httpx.AsyncClient, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More have come than the process remembers: the rest is read from the log."""
    monkeypatch.setattr(follower, "_PAGE", 7)
    await report(*(published(f"brand-{n % 2}") for n in range(40)))
    async with stream(api) as watching:
        await report(published("brand-1"))
        await take(watching, 1)
        async with stream(api, after=0, brand="brand-1") as events:
            assert [int(each["id"]) for each in await take(events, 21)] == [*range(2, 41, 2), 41]
            await report(published("brand-0"), published("brand-1"))
            assert json.loads((await take(events, 1))[0]["data"])["brand"] == "brand-1"
    await eventually(lambda: not service.follower._streams)


async def test_what_concerns_all_brands_is_for_those_who_may_see_all(
    api: httpx.AsyncClient, report: Report
) -> None:
    async with stream(api) as every, stream(api, brand="acme") as some:
        await report(DatabaseFellBack(service="research", kept_until=datetime.now(UTC)), published())
        assert {each["event"] for each in await take(every, 2)} == {"database.fell_back", "content.published"}
        assert (await take(some, 1))[0]["event"] == "content.published"


async def test_strange_places_are_refused(api: httpx.AsyncClient) -> None:
    for headers in ({"Last-Event-ID": "x"}, {"Last-Event-ID": str(2**63)}):
        assert (await api.get("/v1/events/live", headers=headers)).status_code == 422


async def test_there_is_room_for_so_many(service: EventsService, api: httpx.AsyncClient) -> None:
    service.follower._most = 1
    async with stream(api):
        refused = await api.get("/v1/events/live")
        assert (refused.status_code, refused.json()["code"]) == (503, "too_many_streams")
        assert refused.headers["retry-after"]
    await eventually(lambda: not service.follower._streams)
    async with stream(api):
        pass


async def test_a_reader_that_leaves_before_the_first_word_takes_no_place(service: EventsService) -> None:
    stream = await service.follower.prepare(EventFilter(), None)
    texts = service.follower.texts(stream)
    await texts.aclose()
    assert not service.follower._streams


async def test_streams_end_when_the_service_does_or_after_their_time(
    service: EventsService, api: httpx.AsyncClient, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "LIFETIME_SECONDS", 0.0)
    async with stream(api) as events:
        assert [each async for each in events] == []
    monkeypatch.undo()
    async with stream(api) as events:
        service.stop()
        assert [each async for each in events] == []
