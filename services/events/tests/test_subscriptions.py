"""Subscriptions: what is pulled, handled, given back, forgotten by its reader, and who may do so."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from events.app import EventsService
from events.log import store as log
from events.subscriptions import store
from tests.fixtures.event_log import Report, published


async def make(api: httpx.AsyncClient, name: str = "crm", **form: Any) -> None:
    answer = await api.put(f"/v1/subscriptions/{name}", json=form)
    assert answer.status_code == 200, answer.text


async def pull(api: httpx.AsyncClient, name: str = "crm", **body: Any) -> list[dict[str, Any]]:
    answer = await api.post(f"/v1/subscriptions/{name}/pull", json=body)
    assert answer.status_code == 200, answer.text
    messages: list[dict[str, Any]] = answer.json()["messages"]
    return messages


async def ack(
    api: httpx.AsyncClient, *messages: dict[str, Any], name: str = "crm", **body: Any
) -> dict[str, Any]:
    acks = [each["lease_id"] for each in messages]
    answer = await api.post(f"/v1/subscriptions/{name}/ack", json={"acks": acks} | body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def places(messages: list[dict[str, Any]]) -> list[int]:
    return [int(each["event"]["sequence"]) for each in messages]


async def pass_time(service: EventsService, seconds: float) -> None:
    """All leases and delays are older by so much."""
    async with service.database.connection() as connection:
        await connection.execute(
            "update deliveries set available_at = available_at - $1::interval", timedelta(seconds=seconds)
        )


async def test_each_event_is_taken_once_and_in_order(api: httpx.AsyncClient, report: Report) -> None:
    await report(published())
    await make(api)
    await report(*(published() for _ in range(5)))
    first = await pull(api, batch_size=2)
    second = await pull(api, batch_size=10)
    assert (places(first), places(second)) == ([2, 3], [4, 5, 6])
    assert {each["delivery"] for each in first} == {1}
    assert await pull(api) == []
    assert await ack(api, *first, *second) == {"acked": 5, "retried": 0, "unknown": []}
    again = await ack(api, *first)
    assert (again["acked"], len(again["unknown"])) == (0, 2)
    state = (await api.get("/v1/subscriptions/crm")).json()
    assert [state[name] for name in ("behind", "leased", "waiting", "dead", "oldest")] == [0, 0, 0, 0, None]


async def test_a_reader_that_dies_loses_nothing(
    service: EventsService, api: httpx.AsyncClient, report: Report
) -> None:
    await make(api, begin="oldest")
    await report(published(), published())
    dead = await pull(api, visibility_timeout_seconds=43_200)
    assert await pull(api) == []
    await pass_time(service, 43_201)
    state = (await api.get("/v1/subscriptions/crm")).json()
    assert (state["waiting"], state["leased"]) == (2, 0)
    again = await pull(api)
    assert places(again) == places(dead) == [1, 2]
    assert [each["delivery"] for each in again] == [2, 2]
    # The dead one comes to life: its leases are not its own any more.
    late = await ack(api, *dead)
    assert (late["acked"], len(late["unknown"])) == (0, 2)
    assert (await ack(api, *again))["acked"] == 2


async def test_what_is_given_back_comes_again_after_its_delay(
    service: EventsService, api: httpx.AsyncClient, report: Report
) -> None:
    await make(api)
    await report(published(), published())
    first, second = await pull(api)
    told = await ack(
        api, retries=[{"lease_id": first["lease_id"], "delay_seconds": 600}, {"lease_id": second["lease_id"]}]
    )
    assert (told["retried"], told["unknown"]) == (2, [])
    assert places(await pull(api)) == [2]
    await pass_time(service, 601)
    assert places(await pull(api, batch_size=1)) == [1]


async def test_what_fails_too_often_is_a_dead_letter_that_can_be_delivered_anew(
    service: EventsService, api: httpx.AsyncClient, report: Report
) -> None:
    await make(api, max_deliveries=2)
    await report(published(), published())
    for _ in range(2):
        for each in await pull(api):
            await ack(api, retries=[{"lease_id": each["lease_id"]}])
    assert await pull(api) == []
    listed = (await api.get("/v1/subscriptions/crm/dead-letters", params={"limit": 1})).json()
    assert ([each["place"] for each in listed["items"]], listed["next"]) == ([1], 1)
    more = (await api.get("/v1/subscriptions/crm/dead-letters", params={"after": 1})).json()
    assert ([(each["place"], each["deliveries"]) for each in more["items"]], more["next"]) == ([(2, 2)], None)
    revived = await api.post("/v1/subscriptions/crm/dead-letters/revive", json={"places": [2, 99]})
    assert revived.json() == {"revived": 1}
    [again] = await pull(api)
    assert (again["delivery"], places([again])) == (1, [2])
    assert (await api.post("/v1/subscriptions/crm/dead-letters/revive")).json() == {"revived": 1}
    assert (await api.get("/v1/subscriptions/crm")).json()["dead"] == 0


async def test_readers_that_pull_at_once_share_the_events(api: httpx.AsyncClient, report: Report) -> None:
    await make(api)
    await report(*(published() for _ in range(40)))
    taken = await asyncio.gather(*(pull(api, batch_size=8) for _ in range(8)))
    assert sorted(place for each in taken for place in places(each)) == list(range(1, 41))


async def test_a_subscription_takes_what_it_names(api: httpx.AsyncClient, report: Report) -> None:
    await make(api, brands=["acme"], types=["content.published"])
    await report(published("other"), published())
    assert places(await pull(api)) == [2]
    listed = (await api.get("/v1/subscriptions")).json()
    assert [(each["name"], each["brands"], each["types"]) for each in listed["items"]] == [
        ("crm", ["acme"], ["content.published"])
    ]


async def test_made_twice_it_is_there_once_and_keeps_its_place(
    api: httpx.AsyncClient, report: Report
) -> None:
    await make(api, types=["content.published"])
    await report(published())
    await make(api, types=["content.published"], max_deliveries=3)
    assert (await api.get("/v1/subscriptions/crm")).json()["max_deliveries"] == 3
    assert places(await pull(api)) == [1]
    other = await api.put("/v1/subscriptions/crm", json={"types": ["social.posted"]})
    assert (other.status_code, other.json()["code"]) == (409, "subscription_taken")
    assert (await api.delete("/v1/subscriptions/crm")).status_code == 204
    assert (await api.post("/v1/subscriptions/crm/pull", json={})).status_code == 404


async def test_a_key_of_some_brands_sees_no_subscription_of_others(
    service: EventsService, api: httpx.AsyncClient, report: Report
) -> None:
    await make(api, "all")
    await make(api, "acme-only", brands=["acme"])
    await make(api, "both", brands=["acme", "other"])
    async with service.database.connection() as connection:
        seen = await store.page(connection, frozenset({"acme"}), after=None, limit=10)
        found = {
            each.name: each.is_visible({"acme"})
            for each in await store.page(connection, None, after=None, limit=10)
        }
    assert [each.name for each in seen] == ["acme-only"]
    async with service.database.connection() as connection:
        await store.forget_brand(connection, "acme")
        # Of an erased brand nothing is left that the key of another one could see.
        assert await store.page(connection, frozenset({"other"}), after=None, limit=10) == [
            each for each in await store.page(connection, None, after=None, limit=10) if each.name == "both"
        ]
    assert found == {"all": False, "acme-only": True, "both": False}


async def test_forgotten_events_are_skipped_and_their_reader_is_told(
    service: EventsService, api: httpx.AsyncClient, report: Report
) -> None:
    await make(api, "slow")
    await make(api, "busy")
    await report(published())
    await pull(api, "busy")
    async with service.database.connection() as connection:
        await connection.execute("update events set recorded_at = recorded_at - interval '32 days'")
        await log.maintain(connection, 30)
        await store.skip_forgotten(connection)
    await report(published())
    for name in ("slow", "busy"):
        assert places(await pull(api, name)) == [2]
    assert (await api.get("/v1/subscriptions/slow")).json()["missed_until"] is not None
    assert (await api.get("/v1/subscriptions/busy")).json()["missed_until"] is None


async def test_one_that_never_answers_does_not_hold_everything(
    service: EventsService, api: httpx.AsyncClient, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_MOST_OUTSTANDING", 3)
    await make(api)
    await report(*(published() for _ in range(5)))
    assert places(await pull(api)) == [1, 2, 3]
    assert await pull(api) == []
    await pass_time(service, 61)
    assert places(await pull(api)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("pull", {"batch_size": 0}),
        ("pull", {"batch_size": 201}),
        ("pull", {"visibility_timeout_seconds": 43_201}),
        ("ack", {"acks": ["x"]}),
        ("ack", {"retries": [{"lease_id": str(uuid4()), "delay_seconds": -1}]}),
        ("ack", {"strange": 1}),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    api: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    await make(api)
    assert (await api.post(f"/v1/subscriptions/crm/{path}", json=body)).status_code == 422
