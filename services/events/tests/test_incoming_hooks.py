"""Incoming webhooks: requests as the library of Standard Webhooks and GitHub sign them, through to the orchestrator."""

import asyncio
import hashlib
import hmac
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.http import server
from chassis.testing import eventually, running
from envelope.brand import CATALOGUE
from events.app import EventsService, build
from events.incoming_hooks import store
from events.incoming_hooks.receiving import MAX_BYTES, MinuteCounter
from events.settings import Settings
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.api import RequestAuthenticator, http_api
from tests.fixtures.event_log import KEY

HOOK = "/v1/brands/acme/hooks/cms"
DOOR = "/v1/hooks/acme.cms"
START = {"type": "cycle.start", "data": {"keywords": [{"from": "/article/title"}], "priority": "high"}}
BODY = {"article": {"title": "cold brew"}, "action": "published"}


@dataclass
class Orchestrator:
    """The real API of the orchestrator, which may be away."""

    database: Database
    port: int
    _server: Any = None
    _serving: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def begin(self) -> None:
        app = http_api(self.database, RequestAuthenticator(self.database, ServiceKey(SecretStr(KEY))))
        self._server = server.server(app, "127.0.0.1", self.port)
        self._serving = asyncio.create_task(self._server.serve())

        async def answers() -> bool:
            return bool(self._server.started)

        await eventually(answers)

    async def stop(self) -> None:
        if self._serving is not None:
            self._server.should_exit = True
            await self._serving
            self._serving = None

    async def keywords(self) -> list[str]:
        async with self.database.connection() as connection:
            rows = await connection.fetch("select keyword from keywords order by keyword")
        return [row["keyword"] for row in rows]


@pytest.fixture
async def orchestrator(
    make_database: Callable[..., Awaitable[str]],
) -> AsyncIterator[Orchestrator]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    connections = Connections(await make_database("orchestrator"), name="orchestrator test", size=4)
    await connections.open()
    # No broker: what the commands cause stays in the outbox.
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    made = Orchestrator(Database(connections, relay, "orchestrator", CATALOGUE), port)
    await made.begin()
    headers = {"X-Service-Key": KEY}
    async with httpx.AsyncClient(base_url=made.url, headers=headers, trust_env=False) as client:
        for slug in ("acme", "rival"):
            (await client.put(f"/v1/brands/{slug}", json={"name": slug})).raise_for_status()
    yield made
    await made.stop()
    await connections.close()


@pytest.fixture
async def settings(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], orchestrator: Orchestrator
) -> Settings:
    return Settings(
        rabbitmq_url=broker_urls["events"],
        database_url=await make_database("events"),
        service_key=KEY,
        http_port=0,
        orchestrator_url=orchestrator.url,
    )


@pytest.fixture
async def sender(service: EventsService) -> AsyncIterator[httpx.AsyncClient]:
    """A client without any key."""
    url = f"http://127.0.0.1:{service.port}"
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        yield client


async def make(api: httpx.AsyncClient, kind: str = "standard", path: str = HOOK, **command: Any) -> str:
    answer = await api.put(path, json={"kind": kind, "command": START | command})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["secret"])


def signed(
    secret: str, body: Any = BODY, *, message_id: str = "msg_1", at: datetime | None = None
) -> dict[str, Any]:
    """A request as the library of Standard Webhooks signs it."""
    content = body if isinstance(body, str) else json.dumps(body)
    moment = at or datetime.now(UTC)
    headers = {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": Webhook(secret).sign(message_id, moment, content),
        "content-type": "application/json",
    }
    return {"content": content, "headers": headers}


def from_github(
    secret: str, body: Any = BODY, *, delivery: str | None = None, event: str = "release"
) -> dict[str, Any]:
    content = json.dumps(body).encode()
    headers = {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery or str(uuid4()),
        "X-Hub-Signature-256": f"sha256={hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()}",
        "content-type": "application/json",
    }
    return {"content": content, "headers": headers}


async def taken(sender: httpx.AsyncClient, path: str = DOOR, **request: Any) -> str:
    answer = await sender.post(path, **request)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["status"])


async def refused(sender: httpx.AsyncClient, path: str = DOOR, **request: Any) -> tuple[int, str]:
    answer = await sender.post(path, **request)
    assert answer.status_code >= 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


async def arrivals(api: httpx.AsyncClient, path: str = HOOK) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.get(f"{path}/arrivals")).raise_for_status().json()["items"]
    return found


async def all_ended(api: httpx.AsyncClient) -> bool:
    return all(each["state"] != "waiting" for each in await arrivals(api))


async def test_what_standard_webhooks_signs_becomes_a_command_once(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator
) -> None:
    secret = await make(api)
    request = signed(secret)
    told = await asyncio.gather(*(taken(sender, **request) for _ in range(6)))
    assert sorted(told) == ["accepted", *["duplicate"] * 5]
    await eventually(lambda: all_ended(api))
    assert await orchestrator.keywords() == ["cold brew"]
    # Sent again an hour later: signed anew, under the same id.
    assert await taken(sender, **signed(secret, {"article": {"title": "another"}})) == "duplicate"
    (arrived,) = await arrivals(api)
    assert (arrived["state"], arrived["sender_id"], arrived["code"]) == ("done", "msg_1", None)
    async with httpx.AsyncClient(base_url=orchestrator.url, headers={"X-Service-Key": KEY}) as client:
        cycle = (await client.get(arrived["location"])).json()
    assert cycle["brand_slug"] == "acme"


async def test_nothing_is_lost_while_the_orchestrator_or_the_service_is_away(
    api: httpx.AsyncClient,
    sender: httpx.AsyncClient,
    orchestrator: Orchestrator,
    settings: Settings,
    service: EventsService,
) -> None:
    secret = await make(api)
    await orchestrator.stop()
    for number in range(3):
        body = {"article": {"title": f"tea {number}"}}
        assert await taken(sender, **signed(secret, body, message_id=f"msg_{number}")) == "accepted"

    async def postponed() -> bool:
        return all(each["attempts"] and each["detail"] for each in await arrivals(api))

    await eventually(postponed)
    assert {each["state"] for each in await arrivals(api)} == {"waiting"}
    # Another process takes over what one left, also what it was handing over when it died.
    async with service.database.connection() as connection:
        await connection.execute("update hook_arrivals set due_at = now(), claimed_until = now()")
    await orchestrator.begin()
    async with running(build(settings)):
        await eventually(lambda: all_ended(api))
    assert await orchestrator.keywords() == ["tea 0", "tea 1", "tea 2"]


async def test_a_command_that_was_handed_over_and_not_noted_is_done_once(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator, service: EventsService
) -> None:
    await taken(sender, **signed(await make(api)))
    await eventually(lambda: all_ended(api))
    async with service.database.connection() as connection:
        await connection.execute(
            'update hook_arrivals set state = \'waiting\', data = \'{"keywords": ["cold brew"], "priority": "high",'
            ' "brand_slug": "acme"}\', location = null'
        )
    await eventually(lambda: all_ended(api))
    (arrived,) = await arrivals(api)
    assert arrived["state"] == "done"
    assert await orchestrator.keywords() == ["cold brew"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"webhook-signature": "v1,AAAA"}, "signature_invalid"),
        ({"webhook-signature": "v1a,whatever garbage"}, "signature_invalid"),
        ({"webhook-signature": ""}, "signature_invalid"),
        ({"webhook-id": "msg_2"}, "signature_invalid"),
        ({"webhook-id": "m" * 201}, "signature_invalid"),
        ({"webhook-timestamp": "1e9"}, "signature_invalid"),
        ({"webhook-timestamp": "9" * 30}, "signature_invalid"),
    ],
    ids=["wrong", "not base64", "none", "other id", "long id", "no seconds", "huge"],
)
async def test_what_proves_nothing_is_refused_and_listed(
    api: httpx.AsyncClient,
    sender: httpx.AsyncClient,
    orchestrator: Orchestrator,
    change: dict[str, str],
    code: str,
) -> None:
    secret = await make(api)
    request = signed(secret)
    request["headers"] |= change
    assert await refused(sender, **request) == (403, code)
    (arrived,) = await arrivals(api)
    assert (arrived["state"], arrived["code"], arrived["sender_id"]) == ("refused", code, None)
    assert secret not in json.dumps(arrived)
    # The refused request took nothing from the good one.
    assert await taken(sender, **signed(secret)) == "accepted"


@pytest.mark.parametrize("ago", [timedelta(minutes=6), -timedelta(minutes=6)], ids=["old", "future"])
async def test_stale_messages_are_refused(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator, ago: timedelta
) -> None:
    secret = await make(api)
    assert await refused(sender, **signed(secret, at=datetime.now(UTC) - ago)) == (403, "hook_stale")
    assert await taken(sender, **signed(secret, at=datetime.now(UTC) - ago * 0.7)) == "accepted"


async def test_githubs_deliveries_are_taken_once_also_under_another_id(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator
) -> None:
    secret = await make(api, "github", events=["release"], when={"/action": "published"})
    request = from_github(secret, delivery="d-1")
    assert await taken(sender, **request) == "accepted"
    assert await taken(sender, **request) == "duplicate"
    # The delivery's id is not signed.
    assert await taken(sender, **from_github(secret, delivery="d-2")) == "duplicate"
    assert await taken(sender, **from_github(secret, {"zen": "Keep it."}, event="ping")) == "ignored"
    assert await taken(sender, **from_github(secret, BODY | {"action": "created"})) == "ignored"
    for wrong in (
        from_github("another"),
        {"json": BODY},
        {"json": BODY, "headers": {"X-Hub-Signature-256": "ä"}},
    ):
        if isinstance(wrong.get("headers"), dict):
            wrong["headers"] = {name: value.encode() for name, value in wrong["headers"].items()}
        assert await refused(sender, **wrong) == (403, "signature_invalid")
    await eventually(lambda: all_ended(api))
    assert await orchestrator.keywords() == ["cold brew"]


async def test_a_secret_in_the_address_is_enough_for_senders_that_sign_nothing(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator, service: EventsService
) -> None:
    secret = await make(api, "path")
    assert await taken(sender, f"{DOOR}/{secret}", json=BODY) == "accepted"
    # Without an id, the same body is the same message.
    assert await taken(sender, f"{DOOR}/{secret}", json=BODY) == "duplicate"
    assert await taken(sender, f"{DOOR}/{secret}", json=BODY, headers={"webhook-id": "2"}) == "accepted"
    for path in (DOOR, f"{DOOR}/", f"{DOOR}/{secret[:-1]}", f"{DOOR}/{secret}/x"):
        assert (await sender.post(path, json=BODY)).status_code in {403, 404}
    async with service.database.connection() as connection:
        rows = await connection.fetch("select secret from incoming_hooks")
    assert secret not in {row["secret"] for row in rows}


async def test_a_secret_is_shown_once_and_both_are_valid_while_it_is_rotated(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator, service: EventsService
) -> None:
    first = await make(api)
    again = await api.put(HOOK, json={"kind": "standard", "command": START})
    assert (again.status_code, again.json()["secret"]) == (200, None)
    second = (await api.post(f"{HOOK}/rotate")).json()["secret"]
    assert second not in {None, first}
    for number, secret in enumerate((first, second)):
        assert await taken(sender, **signed(secret, message_id=f"msg_{number}")) == "accepted"
    third = (await api.post(f"{HOOK}/rotate", json={"grace_hours": 1})).json()["secret"]
    assert await refused(sender, **signed(first, message_id="msg_3")) == (403, "signature_invalid")
    assert await taken(sender, **signed(second, message_id="msg_3")) == "accepted"
    async with service.database.connection() as connection:
        await connection.execute("update incoming_hooks set former_until = now()")
    assert await refused(sender, **signed(second, message_id="msg_4")) == (403, "signature_invalid")
    assert await taken(sender, **signed(third, message_id="msg_4")) == "accepted"
    for path in (HOOK, "/v1/brands/acme/hooks", f"{HOOK}/arrivals", "/v1/audit-log"):
        text = (await api.get(path)).raise_for_status().text
        assert not any(secret in text for secret in (first, second, third)), path


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ('{"article": {}}', 422, "body_not_mapped"),
        ('{"article"', 422, "body_not_mapped"),
        ("[" * 5_000, 422, "body_not_mapped"),
        ('{"a": 1, "a": 2}', 422, "body_not_mapped"),
        (f'{{"a": [{"0," * 60_000}0]}}', 422, "body_not_mapped"),
        (f'{{"a": "{"x" * MAX_BYTES}"}}', 413, "body_too_large"),
    ],
    ids=["no title", "no JSON", "deep", "twice", "many", "large"],
)
async def test_bodies_that_cannot_be_used_are_refused_with_the_reason(
    api: httpx.AsyncClient,
    sender: httpx.AsyncClient,
    orchestrator: Orchestrator,
    body: str,
    status: int,
    code: str,
) -> None:
    secret = await make(api)
    assert await refused(sender, **signed(secret, body)) == (status, code)
    (arrived,) = await arrivals(api)
    assert (arrived["state"], arrived["code"]) == ("refused", code)
    # Once the sender has corrected it, it may come under the same id.
    assert await taken(sender, **signed(secret)) == "accepted"


async def test_what_the_orchestrator_refuses_is_listed_with_its_reason(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator
) -> None:
    secret = await make(api)
    assert await taken(sender, **signed(secret, {"article": {"title": "!" * 300}})) == "accepted"
    await eventually(lambda: all_ended(api))
    (arrived,) = await arrivals(api)
    assert (arrived["state"], arrived["code"]) == ("refused", "invalid_message")
    assert "keywords" in arrived["detail"]


async def test_a_brand_that_is_not_there_gets_no_command(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator
) -> None:
    path = "/v1/brands/nobody/hooks/cms"
    secret = await make(api, path=path)
    assert await taken(sender, "/v1/hooks/nobody.cms", **signed(secret)) == "accepted"

    async def ended() -> bool:
        return (await arrivals(api, path))[0]["state"] == "refused"

    await eventually(ended)
    assert (await arrivals(api, path))[0]["code"] == "unknown_brand"


async def test_addresses_of_nobody_are_unknown(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator
) -> None:
    secret = await make(api)
    for path in (
        "/v1/hooks/acme.crm",
        "/v1/hooks/rival.cms",
        "/v1/hooks/acme",
        "/v1/hooks/",
        "/v1/hooks/a\0.b",
    ):
        answer = await sender.post(path.replace("\0", "%00"), **signed(secret))
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_hook"), path
    answer = await sender.get(DOOR)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    answer = await sender.post(
        DOOR, content="a=b", headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert answer.status_code == 415
    # A hook's secret opens nothing else.
    assert (await sender.get(f"{HOOK}/arrivals")).status_code == 401


async def test_many_requests_of_one_hook_wait_and_those_of_another_do_not(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator
) -> None:
    secret = await make(api)
    other = await make(api, path="/v1/brands/rival/hooks/cms")
    statuses = [(await sender.post(DOOR, **signed(secret))).status_code for _ in range(121)]
    assert statuses[:120] == [202] * 120
    assert statuses[120] == 429
    # What proves nothing takes no room: nobody keeps a sender out without its secret.
    assert await taken(sender, "/v1/hooks/rival.cms", **signed(other)) == "accepted"
    for _ in range(130):
        await sender.post("/v1/hooks/rival.cms", json={})
    assert await taken(sender, "/v1/hooks/rival.cms", **signed(other)) == "duplicate"
    found = await arrivals(api, "/v1/brands/rival/hooks/cms")
    assert len([each for each in found if each["state"] == "refused"]) == 20


def test_minutes_are_counted_by_hook() -> None:
    now = [0.0]
    counter, one, other = MinuteCounter(2, clock=lambda: now[0]), uuid4(), uuid4()
    assert [counter.take(one) for _ in range(3)] == [0, 0, 60]
    assert counter.take(other) == 0
    now[0] = 60.0
    assert counter.take(one) == 0


async def test_the_last_hundred_are_shown_and_old_ones_deleted(
    api: httpx.AsyncClient, orchestrator: Orchestrator, service: EventsService
) -> None:
    await make(api)
    async with service.database.transaction() as tx:
        hook = await store.find(tx.connection, "acme", "cms")
        assert hook is not None
        for number in range(105):
            await store.insert_refusal(tx.connection, hook.hook_id, "signature_invalid", str(number))
            await store.insert_arrival(
                tx.connection, hook.hook_id, str(number), None, store.ArrivalState.IGNORED, None
            )
    assert len(await arrivals(api)) == 100
    async with service.database.connection() as connection:
        assert await connection.fetchval("select count(*) from hook_arrivals") == 205
        await connection.execute("update hook_arrivals set received_at = now() - interval '31 days'")
        await store.prune(connection)
        assert await connection.fetchval("select count(*) from hook_arrivals") == 0


@pytest.mark.parametrize(
    "command",
    [
        {"type": "content.publish"},
        {"data": {"brand_slug": "rival"}},
        {"data": {"keywords": [{"from": "title"}]}},
        {"data": {"keywords": [{"from": "/a", "else": 1}]}},
        {"data": {"keywords": [{"from": "/a" * 11}]}},
        {"data": {"a": [[[[[[["deep"]]]]]]]}},
        {"data": {"a": list(range(60))}},
        {"data": {"a": "x" * 2001}},
        {"data": {"a": "\0"}},
        {"when": {"action": "published"}},
        {"events": ["Not An Event"]},
        {"code": "import os"},
    ],
)
async def test_definitions_are_bounded(
    api: httpx.AsyncClient, orchestrator: Orchestrator, command: dict[str, Any]
) -> None:
    answer = await api.put(HOOK, json={"kind": "standard", "command": START | command})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert (await api.get(HOOK)).status_code == 404


async def test_hooks_are_changed_removed_and_bounded_by_brand(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator
) -> None:
    secret = await make(api)
    changed = await api.put(HOOK, json={"kind": "standard", "command": {"type": "brand.audit"}})
    assert (changed.status_code, changed.json()["command"]["type"]) == (200, "brand.audit")
    other_kind = await api.put(HOOK, json={"kind": "github", "command": START})
    assert (other_kind.status_code, other_kind.json()["code"]) == (409, "hook_of_another_kind")
    for number in range(19):
        await make(api, path=f"/v1/brands/acme/hooks/h{number}")
    full = await api.put("/v1/brands/acme/hooks/h19", json={"kind": "path", "command": START})
    assert (full.status_code, full.json()["code"]) == (422, "too_many_hooks")
    assert len((await api.get("/v1/brands/acme/hooks")).json()["items"]) == 20
    assert await taken(sender, **signed(secret)) == "accepted"
    assert [(await api.delete(HOOK)).status_code for _ in range(2)] == [204, 404]
    assert await refused(sender, **signed(secret)) == (404, "unknown_hook")


async def test_keys_make_hooks_of_their_brands_with_both_scopes(
    api: httpx.AsyncClient, sender: httpx.AsyncClient, orchestrator: Orchestrator
) -> None:
    async def key(*scopes: str, brands: list[str]) -> dict[str, str]:
        async with httpx.AsyncClient(base_url=orchestrator.url, headers={"X-Service-Key": KEY}) as client:
            wanted = {"name": uuid4().hex, "scopes": list(scopes), "brands": brands}
            made = (await client.post("/v1/keys", json=wanted)).raise_for_status().json()
        return {"Authorization": f"Bearer {made['key']}"}

    form = {"kind": "standard", "command": START}
    operates = await key("operate", "read", brands=["acme"])
    submits = await key("submit", "read", brands=["acme"])
    both = await key("operate", "submit", "read", brands=["acme"])
    for headers, status in ((operates, 403), (submits, 403), (both, 201)):
        assert (await sender.put(HOOK, json=form, headers=headers)).status_code == status
    assert (await sender.post(f"{HOOK}/rotate", headers=operates)).status_code == 403
    foreign = "/v1/brands/rival/hooks/cms"
    await make(api, path=foreign)
    assert (await sender.put(foreign, json=form, headers=both)).status_code == 404
    for path in (foreign, f"{foreign}/arrivals"):
        assert (await sender.get(path, headers=both)).status_code == 404
    assert (await sender.delete(foreign, headers=both)).status_code == 404


async def test_metrics_tell_of_what_waits_and_of_refusals(
    api: httpx.AsyncClient,
    sender: httpx.AsyncClient,
    orchestrator: Orchestrator,
    service: EventsService,
) -> None:
    secret = await make(api)
    await make(api, path="/v1/brands/rival/hooks/cms", kind="path")

    async def metric(name: str, **labels: str) -> float | None:
        shown = ",".join(f'{label}="{value}"' for label, value in labels.items())
        line = f"brand_engine_{name}{{{shown}}} " if labels else f"brand_engine_{name} "
        # As often as nobody waits for.
        await service.metrics.sample()
        text = (await sender.get("/metrics")).text
        return next((float(each.split()[-1]) for each in text.splitlines() if each.startswith(line)), None)

    assert await metric("hook_requests_waiting") == 0
    assert await metric("hook_requests_oldest_waiting_seconds") == 0
    assert await metric("hook_requests_refused_total", reason="hook_stale") == 0
    await orchestrator.stop()
    assert (await sender.post(DOOR, **signed(secret))).status_code == 202
    async with service.database.connection() as connection:
        await connection.execute("update hook_arrivals set received_at = now() - interval '700 seconds'")
    assert await metric("hook_requests_waiting") == 1
    age = await metric("hook_requests_oldest_waiting_seconds")
    assert age is not None
    assert 700 <= age < 900

    await sender.post(DOOR, json=BODY)
    await sender.post("/v1/hooks/acme.none", json=BODY)
    assert await metric("hook_requests_refused_total", reason="signature_invalid") == 1
    assert await metric("hook_requests_refused_total", reason="unknown_hook") == 1

    # Also what the orchestrator refuses: the brand is gone there. Before the orchestrator is back,
    # or the request may be forwarded while there is a brand.
    async with orchestrator.database.connection() as connection:
        await connection.execute("delete from brands where slug = 'acme'")
    await orchestrator.begin()
    async with service.database.connection() as connection:
        await connection.execute("update hook_arrivals set due_at = now()")

    async def refused() -> bool:
        return await metric("hook_requests_refused_total", reason="unknown_brand") == 1

    await eventually(refused)
    assert await metric("hook_requests_waiting") == 0
    assert await metric("hook_requests_oldest_waiting_seconds") == 0
