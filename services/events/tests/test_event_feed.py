"""The feed of events: order, filters, places, and what is forgotten."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import BrandErased, DatabaseFellBack, EventsErase, SocialPosted
from events.app import EventsService
from events.erasure import erase
from events.log import store
from events.log.domain import EventFilter
from events.log.recording import record
from tests.fixtures.event_log import Report, published


async def every(api: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    """All pages of the feed."""
    found: list[dict[str, Any]] = []
    while True:
        answer = await api.get("/v1/events", params=query)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page["items"]
        if page["next"] is None:
            return found
        query["after"] = page["next"]


def ids_of(items: list[dict[str, Any]]) -> list[UUID]:
    return [UUID(each["id"]) for each in items]


def posted(brand: str) -> SocialPosted:
    return SocialPosted(
        brand_slug=brand, content_id=uuid4(), platform="mastodon", post_url="https://social.example/1"
    )


async def test_an_event_is_a_cloud_event(api: httpx.AsyncClient, report: Report) -> None:
    told = published(tags=("coffee",))
    [event_id] = await report(told, correlation_id="chain-1")
    [event] = await every(api)
    moment = datetime.fromisoformat(event.pop("time"))
    assert datetime.now(UTC) - moment < timedelta(hours=1)
    assert event == {
        "specversion": "1.0",
        "id": str(event_id),
        "source": "publisher",
        "type": "content.published",
        "datacontenttype": "application/json",
        "brand": "acme",
        "correlationid": "chain-1",
        "sequence": "0000000000000000001",
        "data": told.model_dump(mode="json"),
    }


async def test_pages_hold_all_events_once_and_in_their_order(api: httpx.AsyncClient, report: Report) -> None:
    ids = await report(*(published(f"brand-{n % 3}") for n in range(23)))
    found = await every(api, limit=5)
    assert sorted(ids_of(found)) == sorted(ids)
    assert [int(each["sequence"]) for each in found] == list(range(1, 24))
    assert len(await every(api, limit=23)) == 23
    last = (await api.get("/v1/events")).json()["last"]
    assert (await api.get("/v1/events", params={"after": last})).json() == {
        "items": [],
        "next": None,
        "last": last,
    }


async def test_one_that_comes_twice_is_there_once(api: httpx.AsyncClient, report: Report) -> None:
    told, twice = published(), [new_event_id()]
    await report(told, ids=twice)
    await report(told, ids=twice)
    [after] = await report(published())
    assert ids_of(await every(api)) == [*twice, after]


async def test_filters_take_what_they_name(api: httpx.AsyncClient, report: Report) -> None:
    acme, other = published(), published("other")
    [a] = await report(acme, correlation_id="one")
    [b] = await report(other, correlation_id="one")
    [c] = await report(posted("acme"))
    [d] = await report(DatabaseFellBack(service="research", kept_until=datetime.now(UTC)))
    assert ids_of(await every(api)) == [a, b, c, d]
    assert ids_of(await every(api, brand="acme")) == [a, c]
    assert ids_of(await every(api, types="content.published")) == [a, b]
    assert ids_of(await every(api, types="social.posted, content.published", brand="acme", limit=1)) == [a, c]
    assert ids_of(await every(api, correlation_id="one")) == [a, b]
    assert ids_of(await every(api, correlation_id="one", brand="other")) == [b]
    assert await every(api, brand="nobody") == []


async def test_a_page_ends_even_if_little_matches(
    service: EventsService, api: httpx.AsyncClient, report: Report
) -> None:
    """Looking for a rare type among many events takes several bounded steps, and finds each."""
    await report(published())
    async with service.database.transaction() as tx:
        await tx.connection.execute(
            "insert into events select position + n, recorded_at, gen_random_uuid(), type, source, brand_slug, null, null,"
            " happened_at, payload from events, generate_series(1, $1) n",
            store.SCANNED + 10,
        )
        await tx.connection.execute("update log_head set position = $1", store.SCANNED + 11)
    [rare] = await report(posted("acme"))
    first = (await api.get("/v1/events", params={"types": "social.posted"})).json()
    assert (first["items"], first["next"]) == ([], store.SCANNED)
    assert ids_of(await every(api, types="social.posted")) == [rare]
    async with service.database.connection() as connection:
        brands = frozenset({"acme", *(f"brand-{n}" for n in range(60))})
        wanted = EventFilter(brands, frozenset({"social.posted"}))
        page = await store.read(connection, wanted, after=store.SCANNED - 5, limit=3)
    assert [each.event_id for each in page.events] == [rare]


async def test_since_begins_at_a_time(service: EventsService, api: httpx.AsyncClient, report: Report) -> None:
    await report(published())
    since = datetime.now(UTC).isoformat()
    [late] = await report(published())
    assert ids_of(await every(api, since=since)) == [late]
    assert await every(api, since=datetime.now(UTC).isoformat()) == []
    both = await api.get("/v1/events", params={"since": since, "after": 1})
    assert both.status_code == 422


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"types": "research.requested"}, 422),
        ({"types": "nothing.known"}, 422),
        ({"after": "-1"}, 422),
        ({"after": "x"}, 422),
        ({"brand": "No Slug"}, 422),
        ({"limit": 0}, 422),
        ({"strange": 1}, 422),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    api: httpx.AsyncClient, query: dict[str, Any], status: int
) -> None:
    assert (await api.get("/v1/events", params=query)).status_code == status


async def test_nobody_reads_without_a_key(api: httpx.AsyncClient) -> None:
    for path in ("/v1/events", "/v1/events/live", "/v1/subscriptions"):
        assert (await api.get(path, headers={"X-Service-Key": "no"})).status_code == 401


async def test_days_that_are_over_are_forgotten_and_a_reader_learns_that_it_missed_some(
    service: EventsService, api: httpx.AsyncClient, report: Report
) -> None:
    await report(published(), published())
    async with service.database.connection() as connection:
        # A process that runs on without upkeep stores what comes in the default partition.
        day = datetime.now(UTC).date() - timedelta(days=31)
        await connection.execute(
            "update events set recorded_at = $1", datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        )
    [kept] = await report(published())
    async with service.database.connection() as connection:
        await store.maintain(connection, 30)
        await store.maintain(connection, 30)
    assert ids_of(await every(api)) == [kept]
    missed = await api.get("/v1/events", params={"after": 1})
    assert (missed.status_code, missed.json()["code"]) == (409, "events_forgotten")
    assert "after=2" in missed.json()["detail"]
    assert ids_of(await every(api, after=2)) == [kept]


async def test_a_place_that_the_log_has_not_come_to_is_refused(
    api: httpx.AsyncClient, report: Report
) -> None:
    """As after a restore from a backup: a reader that waited there would miss what comes until then."""
    await report(published())
    assert (await api.get("/v1/events", params={"after": 1})).status_code == 200
    for path in ("/v1/events", "/v1/events/live"):
        ahead = await api.get(path, params={"after": 2})
        assert (ahead.status_code, ahead.json()["code"]) == (409, "unknown_event_place")
        assert "after=1" in ahead.json()["detail"]


async def test_an_erased_brand_leaves_nothing_but_the_word_of_it(
    service: EventsService, api: httpx.AsyncClient, report: Report
) -> None:
    erasure = uuid4()
    await report(published(), published("other"))
    [told] = await report(BrandErased(brand_slug="acme", erasure_id=erasure, service="research"))
    command = DomainMessage[EventsErase](
        event_id=new_event_id(),
        type="events.erase",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        payload=EventsErase(brand_slug="acme", erasure_id=erasure),
    )
    for _ in range(2):
        async with service.database.transaction() as tx:
            await erase([command], tx)
            [answer] = tx.outgoing
            assert answer.type == "brand.erased"
    late = published()
    message = DomainMessage[type(late)](  # type: ignore[misc]
        event_id=new_event_id(),
        type="content.published",
        source="publisher",
        timestamp=command.timestamp - timedelta(seconds=1),
        payload=late,
    )
    async with service.database.transaction() as tx:
        await record([message], tx)
    assert ids_of(await every(api, brand="acme")) == [told]
    assert len(await every(api, brand="other")) == 1


async def test_no_reader_overlooks_what_several_store_at_once(service: EventsService) -> None:
    """Transactions that store events commit in any order, and yet a reader that goes on after its place misses none."""
    seen: list[int] = []

    async def write(number: int) -> None:
        for _ in range(20):
            async with service.database.transaction() as tx:
                message = DomainMessage[type(published())](  # type: ignore[misc]
                    event_id=new_event_id(),
                    type="content.published",
                    source="publisher",
                    timestamp=datetime.now(UTC),
                    payload=published(f"brand-{number}"),
                )
                await store.append(tx.connection, [message])

    async def follow() -> None:
        after = 0
        while len(seen) < 100:
            async with service.database.connection() as connection:
                page = await store.read(connection, EventFilter(), after=after, limit=7)
            seen.extend(each.position for each in page.events)
            after = page.position

    await asyncio.wait_for(asyncio.gather(follow(), *(write(n) for n in range(5))), 120)
    assert seen == list(range(1, 101))
