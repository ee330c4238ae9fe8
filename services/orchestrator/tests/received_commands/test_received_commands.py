"""Commands of other systems over HTTP: what is done, once, and for whom."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import serving
from envelope import new_event_id
from messaging import Database
from orchestrator.api import RequestAuthenticator, http_api
from orchestrator.article_workflow.store import insert_content
from orchestrator.received_commands import delete_old
from writing import Article
from writing.article import ArticleSource

BRAND = {"name": "Acme"}


@pytest.fixture
async def brands(api: httpx.AsyncClient) -> None:
    for slug in ("acme", "rival"):
        (await api.put(f"/v1/brands/{slug}", json=BRAND)).raise_for_status()


def start(keyword: str = "cold brew", *, brand: str = "acme", **changed: Any) -> dict[str, Any]:
    """An envelope with the command to start a cycle."""
    return {
        "event_id": str(uuid4()),
        "type": "cycle.start",
        "source": "shop",
        "timestamp": datetime.now(UTC).isoformat(),
        "payload": {"brand_slug": brand, "keywords": [keyword]},
    } | changed


def event(**changed: Any) -> dict[str, Any]:
    """A CloudEvent with the command to audit a brand."""
    return {
        "specversion": "1.0",
        "id": uuid4().hex,
        "type": "brand.audit",
        "source": "/shop",
        "time": datetime.now(UTC).isoformat(),
        "data": {"brand_slug": "acme"},
    } | changed


async def send(api: httpx.AsyncClient, *messages: Any, **sent: Any) -> list[dict[str, Any]]:
    answer = await api.post("/v1/messages", json=list(messages), **sent)
    assert answer.status_code == 202, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    assert len(results) == len(messages)
    return results


async def counts(database: Database) -> tuple[int, int, int]:
    """Cycles, audits, and messages to other services."""
    async with database.connection() as connection:
        row = await connection.fetchrow(
            """
            select (select count(*) from cycles), (select count(*) from audits),
                   (select count(*) from outbox where type = 'research.requested')
            """
        )
    assert row is not None
    return row[0], row[1], row[2]


async def key_of(api: httpx.AsyncClient, *scopes: str, brands: list[str] | None = None) -> dict[str, str]:
    wanted = {"name": uuid4().hex, "scopes": list(scopes)} | ({"brands": brands} if brands else {})
    made = (await api.post("/v1/keys", json=wanted)).raise_for_status().json()
    return {"Authorization": f"Bearer {made['key']}"}


@pytest.fixture
async def anybody(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a key, of another replica."""
    callers = RequestAuthenticator(
        orchestrator_database, ServiceKey(SecretStr("test-service-key-0123456789"))
    )
    async with (
        serving(http_api(orchestrator_database, callers)) as origin,
        httpx.AsyncClient(base_url=origin, trust_env=False, timeout=60) as client,
    ):
        yield client


async def test_commands_do_what_their_routes_do(
    api: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    first, second = await send(api, start("cold brew"), event())
    assert (first["status"], second["status"]) == ("accepted", "accepted")
    cycle = (await api.get(first["location"])).raise_for_status().json()
    assert [each["keyword"] for each in cycle["keywords"]] == ["cold brew"]
    assert (await api.get(second["location"])).raise_for_status().json()["brand_slug"] == "acme"
    assert await counts(orchestrator_database) == (1, 1, 1)


async def test_cloud_events_of_the_official_library_are_taken_in_both_json_forms(
    api: httpx.AsyncClient, brands: None
) -> None:
    made = CloudEvent(
        attributes={"id": "order-1", "source": "/shop", "type": "cycle.start", "time": datetime.now(UTC)},
        data={"brand_slug": "acme", "keywords": ["oat milk"]},
    )
    written = JSONFormat().write(made)
    structured = await api.post(
        "/v1/messages", content=written, headers={"Content-Type": "application/cloudevents+json"}
    )
    batched = await api.post(
        "/v1/messages",
        content=b"[" + written + b"]",
        headers={"Content-Type": "application/cloudevents-batch+json; charset=utf-8"},
    )
    (first,), (again,) = structured.json()["results"], batched.json()["results"]
    assert (structured.status_code, first["id"], first["status"]) == (202, "order-1", "accepted")
    assert (again["status"], again["location"]) == ("duplicate", first["location"])


async def test_a_message_is_done_once_however_often_and_wherever_it_comes(
    api: httpx.AsyncClient, anybody: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    key = await key_of(api, "submit")
    message = start()
    results = await asyncio.gather(
        *(send(client, message, headers=key) for client in (api_of(api), anybody) * 8)
    )
    told = [each["status"] for (each,) in results]
    assert (told.count("accepted"), told.count("duplicate")) == (1, 15)
    assert len({each["location"] for (each,) in results}) == 1
    # Twice in one batch, and with a renewed time.
    again = await send(anybody, message, message | {"timestamp": datetime.now(UTC).isoformat()}, headers=key)
    assert [each["status"] for each in again] == ["duplicate", "duplicate"]
    assert (await counts(orchestrator_database))[::2] == (1, 1)


def api_of(api: httpx.AsyncClient) -> httpx.AsyncClient:
    """The client without its service key, which would count before another one."""
    api.headers.pop("X-Service-Key", None)
    return api


async def test_an_id_that_was_used_for_another_message_is_refused(
    api: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    message = start("cold brew")
    other = start("pour over", event_id=message["event_id"])
    from_elsewhere = other | {"source": "another shop"}
    results = await send(api, message, other, from_elsewhere)
    assert [(each["status"], each["code"]) for each in results] == [
        ("accepted", None),
        ("refused", "message_id_used"),
        ("accepted", None),
    ]
    assert (await counts(orchestrator_database))[0] == 2


async def test_ids_of_one_key_say_nothing_of_those_of_another(
    api: httpx.AsyncClient, anybody: httpx.AsyncClient, brands: None
) -> None:
    one, other = await key_of(api, "submit"), await key_of(api, "submit")
    message = start()
    results = [await send(anybody, message, headers=each) for each in (one, other)]
    assert [each["status"] for (each,) in results] == ["accepted", "accepted"]


@pytest.mark.parametrize(
    ("bad", "code", "told"),
    [
        ("text", "invalid_message", "JSON object"),
        (7, "invalid_message", "JSON object"),
        ({}, "invalid_message", "is missing"),
        ({"specversion": "2.0"}, "invalid_message", "specversion"),
        ({"type": "content.generate"}, "unknown_command", "cycle.start"),
        ({"type": "brand.audit\x00"}, "invalid_message", "type"),
        ({"event_id": "4711"}, "invalid_message", "is not a UUID"),
        ({"timestamp": "2026-11-01T00:00:00"}, "invalid_message", "timestamp"),
        ({"deadline": "2030-01-01T00:00:00Z"}, "invalid_message", "deadline: is not a field"),
        ({"payload": {"brand_slug": "acme"}}, "invalid_message", "data.keywords: is missing"),
        ({"payload": {"brand_slug": "acme", "keywords": []}}, "invalid_message", "data.keywords"),
        (
            {"payload": {"brand_slug": "acme", "keywords": ["a"], "keyword": 1}},
            "invalid_message",
            "data.keyword:",
        ),
        (
            {"payload": {"brand_slug": "acme", "keywords": ["a"], "deadline": "2020-01-01T00:00:00Z"}},
            "invalid_request",
            "has passed",
        ),
        ({"payload": {"brand_slug": "nobody", "keywords": ["a"]}}, "unknown_brand", "nobody"),
        ({"payload": {"brand_slug": "No Body", "keywords": ["a"]}}, "invalid_message", "data.brand_slug"),
    ],
)
async def test_a_bad_message_is_refused_and_stops_no_other(
    api: httpx.AsyncClient, brands: None, orchestrator_database: Database, bad: Any, code: str, told: str
) -> None:
    sent = start(**bad) if isinstance(bad, dict) and bad and "specversion" not in bad else bad
    before, refused, after = await send(api, start("cold brew"), sent, start("pour over"))
    assert (before["status"], after["status"]) == ("accepted", "accepted")
    assert (refused["status"], refused["code"], refused["location"]) == ("refused", code, None)
    assert told in refused["detail"]
    assert (await counts(orchestrator_database))[0] == 2
    if isinstance(sent, dict) and "event_id" in sent and code != "invalid_message":
        assert refused["id"] == sent["event_id"]
        # Nothing of it is remembered: corrected, it may come under the same id.
        (corrected,) = await send(api, start("tea", event_id=sent["event_id"]))
        assert corrected["status"] == "accepted"


@pytest.mark.parametrize(
    ("ago", "is_taken"),
    [
        (timedelta(days=6, hours=23), True),
        (timedelta(days=7, minutes=1), False),
        (-timedelta(minutes=4), True),
        (-timedelta(minutes=6), False),
    ],
    ids=["a week", "over a week", "a little ahead", "ahead"],
)
async def test_messages_of_long_ago_and_of_the_future_are_refused(
    api: httpx.AsyncClient, brands: None, ago: timedelta, is_taken: bool
) -> None:
    sent_at = (datetime.now(UTC) - ago).isoformat()
    results = await send(api, start(timestamp=sent_at), event(time=sent_at))
    assert {each["code"] for each in results} == ({None} if is_taken else {"stale_message"})


async def test_what_is_remembered_outlives_what_is_accepted(
    api: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    sent_at = datetime.now(UTC)
    message = event(time=sent_at.isoformat())
    await send(api, message)
    async with orchestrator_database.connection() as connection:
        for days, left in ((7.5, 1), (8.5, 0)):
            await connection.execute(
                "update received_commands set received_at = now() - $1::interval", timedelta(days=days)
            )
            await delete_old(connection)
            assert await connection.fetchval("select count(*) from received_commands") == left


async def test_a_batch_has_one_to_a_hundred_messages(api: httpx.AsyncClient, brands: None) -> None:
    most = await send(api, *(start(f"tea {number}") for number in range(100)))
    assert {each["status"] for each in most} == {"accepted"}
    for count in (0, 101):
        answer = await api.post("/v1/messages", json=[start() for _ in range(count)])
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
        assert "1 to 100" in answer.json()["detail"]
    answer = await api.post("/v1/messages", content="<xml/>", headers={"Content-Type": "text/xml"})
    assert answer.status_code == 415


async def waiting_draft(database: Database, brand: str) -> str:
    content_id = new_event_id()
    async with database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug=brand,
            keyword="tea",
            research_id=new_event_id(),
            article=Article(
                slug=f"tea-{brand}",
                title="Tea",
                meta_description="About tea.",
                body_markdown="## Tea\n\nIt is steeped.\n",
                word_count=5,
                key_points=("It is steeped.",),
                cited=(),
                label="digest",
            ),
            sources=[ArticleSource(n=1, title="Tea", passages=(), path="tea.md")],
            measures=(),
            held_for=("231 words",),
        )
    return str(content_id)


def publish(content_id: str, brand: str = "acme", **data: Any) -> dict[str, Any]:
    told = {"brand_slug": brand, "content_id": content_id, "version": 1} | data
    return event(type="content.publish", data=told)


async def test_an_article_is_published_now_or_at_a_time(
    api: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    now, later = [await waiting_draft(orchestrator_database, "acme") for _ in range(2)]
    results = await send(api, publish(now), publish(later, publish_at="2090-01-01T00:00:00Z"))
    assert [each["status"] for each in results] == ["accepted", "accepted"]
    states = [(await api.get(each["location"])).json()["state"] for each in results]
    assert states == ["approved", "scheduled"]
    async with orchestrator_database.connection() as connection:
        bodies = [json.loads(row["body"]) for row in await connection.fetch("select body from outbox")]
    assert [each["payload"]["content_id"] for each in bodies if each["type"] == "content.publish"] == [now]


async def test_a_command_takes_the_scope_of_its_route_and_the_brands_of_its_key(
    api: httpx.AsyncClient, anybody: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    own = await waiting_draft(orchestrator_database, "acme")
    foreign = await waiting_draft(orchestrator_database, "rival")
    submits = await key_of(api, "submit", brands=["acme"])
    reviews = await key_of(api, "submit", "review", brands=["acme"])
    reads = await key_of(api, "read", "operate", "review", "admin")

    refused = await send(
        anybody, publish(own), start(brand="rival"), event(data={"brand_slug": "rival"}), headers=submits
    )
    assert [each["code"] for each in refused] == ["scope_missing", "unknown_brand", "unknown_brand"]
    # As if they did not exist, whichever brand the message names.
    unknown = str(uuid4())
    hidden = await send(
        anybody,
        *(publish(each, brand) for each in (foreign, unknown) for brand in ("acme", "rival")),
        headers=reviews,
    )
    assert [each["code"] for each in hidden] == ["unknown_draft", "unknown_brand"] * 2
    told = [each["detail"].replace(foreign, "<id>").replace(unknown, "<id>") for each in hidden]
    assert told[:2] == told[2:]
    assert (await counts(orchestrator_database)) == (0, 0, 0)

    answer = await anybody.post("/v1/messages", json=[start()], headers=reads)
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")
    assert (await anybody.post("/v1/messages", json=[start()])).status_code == 401
    (done,) = await send(anybody, publish(own), headers=reviews)
    assert done["status"] == "accepted"


async def test_what_fails_within_the_transaction_is_not_remembered(
    api: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    content_id = await waiting_draft(orchestrator_database, "acme")
    message = publish(content_id, version=2)
    (refused,) = await send(api, message)
    assert (refused["status"], refused["code"]) == ("refused", "unknown_version")
    async with orchestrator_database.connection() as connection:
        assert await connection.fetchval("select count(*) from received_commands") == 0


async def test_a_request_with_an_idempotency_key_keeps_the_good_ones_too(
    api: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    key = {"Idempotency-Key": "monday"}
    messages = [start("tea"), start(brand="nobody"), start("mate")]
    first, again = [await send(api, *messages, headers=key) for _ in range(2)]
    assert [each["status"] for each in first] == ["accepted", "refused", "accepted"]
    assert again == first
    assert (await counts(orchestrator_database))[0] == 2


async def test_an_erased_brand_leaves_no_messages(
    api: httpx.AsyncClient, brands: None, orchestrator_database: Database
) -> None:
    await send(api, start(), start(brand="rival"))
    (await api.post("/v1/brands/acme/erase", json={"confirm": "acme"})).raise_for_status()
    async with orchestrator_database.connection() as connection:
        rows = await connection.fetch("select brand_slug from received_commands")
    assert [row["brand_slug"] for row in rows] == ["rival"]
