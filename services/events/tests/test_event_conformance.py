"""Events as clients read them that were not written here: the SDK of CloudEvents, and a client of server-sent events."""

import asyncio
import json
from datetime import UTC, datetime
from uuid import UUID

import httpx
from cloudevents.core.formats.json import JSONFormat
from httpx_sse import aconnect_sse

from envelope.brand.payloads import DatabaseFellBack
from tests.fixtures.event_log import Report, published

FORMAT = JSONFormat()


async def test_the_sdk_reads_events_of_the_feed_and_of_a_subscription(
    api: httpx.AsyncClient, report: Report
) -> None:
    (await api.put("/v1/subscriptions/crm", json={})).raise_for_status()
    told = published(tags=("coffee",))
    [full] = await report(told, correlation_id="chain-1")
    [bare] = await report(DatabaseFellBack(service="research", kept_until=datetime.now(UTC)))
    listed = (await api.get("/v1/events")).json()["items"]
    pulled = [each["event"] for each in (await api.post("/v1/subscriptions/crm/pull")).json()["messages"]]
    assert listed == pulled
    first, second = (FORMAT.read(None, json.dumps(each)) for each in listed)
    assert (UUID(first.get_id()), first.get_type(), first.get_source()) == (
        full,
        "content.published",
        "publisher",
    )
    assert first.get_specversion() == "1.0"
    assert first.get_time() is not None
    assert (first.get_extension("brand"), first.get_extension("correlationid")) == ("acme", "chain-1")
    assert first.get_data() == told.model_dump(mode="json")
    assert (UUID(second.get_id()), second.get_extension("brand")) == (bare, None)


async def test_a_client_of_server_sent_events_follows_and_comes_back(
    api: httpx.AsyncClient, report: Report
) -> None:
    async def follow(number: int, **headers: str) -> list[tuple[str, str]]:
        """Place and type of so many events."""
        found = []
        async with aconnect_sse(api, "GET", "/v1/events/live", headers=headers) as source:
            opened.set()
            async for event in source.aiter_sse():
                if event.event != "content.published":
                    continue  # such as the word when to connect again
                assert UUID(FORMAT.read(None, event.data).get_id())
                found.append((event.id, event.event))
                if len(found) == number:
                    break
        return found

    opened = asyncio.Event()
    following = asyncio.create_task(follow(2))
    await asyncio.wait_for(opened.wait(), 60)
    await report(published(), published())
    assert [place for place, _ in await asyncio.wait_for(following, 60)] == ["1", "2"]
    await report(published())
    again = await asyncio.wait_for(follow(2, **{"Last-Event-ID": "1"}), 60)
    assert [place for place, _ in again] == ["2", "3"]
