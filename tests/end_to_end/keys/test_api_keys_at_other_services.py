"""API keys of the orchestrator, sent to other services, which ask it for their owners; in full to social."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.api_keys import ApiKey
from chassis.database.pool import Connections
from chassis.http.client import Peer, ServiceClient
from chassis.http.introspection import GOOD_FOR_SECONDS, IntrospectedKeys
from chassis.http.service_key import PairAccess, PairKeys
from chassis.testing import TcpProxy, serving
from envelope import new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ArticleContext, SocialCreate
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.api import RequestAuthenticator, http_api
from orchestrator.app import READ_BY_SOCIAL
from social.api import create_api
from social.calendar import SlotScheduler
from social.handlers import Handlers
from social.http_api import create_app
from social.sending import DuePosts
from social.urls import FeedUrls
from tests.architecture.test_every_route_names_its_scope import routes_of
from tests.architecture.test_keys_of_pairs import served_by

SERVICE = {"X-Service-Key": "test-service-key-0123456789"}
PAIR = SecretStr("of-social-and-orchestrator-7Kq")
URLS = FeedUrls.under("http://social.example")


@dataclass
class Both:
    orchestrator: httpx.AsyncClient
    social: httpx.AsyncClient
    between: TcpProxy
    seconds: list[float]
    """What social's clock has gone on by."""

    async def key(self, name: str, *scopes: str, **bound: Any) -> tuple[dict[str, str], str]:
        """A header with a new key, and the key's id."""
        asked = {"name": name, "scopes": scopes, **bound}
        made = (await self.orchestrator.post("/v1/keys", json=asked, headers=SERVICE)).json()
        return {"Authorization": f"Bearer {made['key']}"}, made["about"]["key_id"]

    async def listed(self, key: dict[str, str]) -> httpx.Response:
        return await self.social.get("/v1/posts", headers=key)


def database(stack: AsyncExitStack, connections: Connections, service: str) -> Database:
    stack.push_async_callback(connections.close)
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    return Database(connections, relay, service, CATALOGUE)


@pytest.fixture
async def both(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Both]:
    """Two brands, each with a post that waits for a person."""
    async with AsyncExitStack() as stack:
        of = {}
        for service in ("orchestrator", "social"):
            connections = Connections(await make_database(service), name=f"{service} test", size=4)
            await connections.open()
            of[service] = database(stack, connections, service)
        with_key = ServiceKey(SecretStr(SERVICE["X-Service-Key"]))
        callers = PairKeys(
            RequestAuthenticator(of["orchestrator"], with_key), [PairAccess("social", PAIR, READ_BY_SOCIAL)]
        )
        origin = await stack.enter_async_context(serving(http_api(of["orchestrator"], callers)))
        between = await stack.enter_async_context(TcpProxy("127.0.0.1", int(origin.rpartition(":")[2])))
        peer = Peer("the orchestrator", f"http://127.0.0.1:{between.port}", "ORCHESTRATOR_URL", PAIR)
        keeper = await stack.enter_async_context(ServiceClient(peer, timeout_seconds=2, max_bytes=64_000))
        seconds = [0.0]
        api = create_api(
            of["social"],
            IntrospectedKeys(keeper, with_key, clock=lambda: seconds[0]),
            URLS,
            DuePosts(of["social"], SlotScheduler(), at_once=1),
            feeds=create_app(of["social"], URLS, posts_per_page=20),
        )
        social_origin = await stack.enter_async_context(serving(api))
        orchestrator, social = [
            await stack.enter_async_context(httpx.AsyncClient(base_url=each, trust_env=False))
            for each in (origin, social_origin)
        ]
        for brand in ("acme", "rival"):
            (
                await orchestrator.put(f"/v1/brands/{brand}", json={"name": brand}, headers=SERVICE)
            ).raise_for_status()
            async with of["social"].transaction() as tx:
                await Handlers(URLS).social_create([waiting_post(brand)], tx)
        yield Both(orchestrator, social, between, seconds)


def waiting_post(brand: str) -> Any:
    article = ArticleContext(
        title="Tea", keyword="tea", meta_description="How long it takes.", key_points=("Wait.",)
    )
    payload = SocialCreate(
        brand_slug=brand, content_id=new_event_id(), article_context=article, approval="everything"
    )
    entry = CATALOGUE.type_of(payload)
    return entry.envelope(
        event_id=new_event_id(),
        type=entry.name,
        source=entry.producers[0],
        timestamp=datetime.now(UTC),
        correlation_id="x",
        payload=payload,
    )


async def test_a_brands_key_decides_about_its_posts_and_sees_no_other(both: Both) -> None:
    key, _ = await both.key("newsroom", "read", "review", brands=["acme"])
    all_posts = {post["brand_slug"]: post for post in (await both.listed(SERVICE)).json()["items"]}
    assert set(all_posts) == {"acme", "rival"}
    assert [post["brand_slug"] for post in (await both.listed(key)).json()["items"]] == ["acme"]
    approvals = [
        await both.social.post(f"/v1/posts/{each}/approve", json={"version": 1}, headers=key)
        for each in (all_posts["acme"]["post_id"], all_posts["rival"]["post_id"], new_event_id())
    ]
    assert [answer.status_code for answer in approvals] == [200, 404, 404]
    foreign, unknown = [answer.json()["detail"].split(" ", 2)[2][36:] for answer in approvals[1:]]
    assert foreign == unknown
    decisions = await both.social.get(f"/v1/posts/{all_posts['acme']['post_id']}/decisions", headers=key)
    assert [each["by"] for each in decisions.json()["items"]] == ["newsroom"]


@pytest.mark.extended
async def test_a_key_opens_what_its_scopes_say_here_too_and_as_often_as_it_may(both: Both) -> None:
    key, _ = await both.key("reader", "read", per_minute=2)
    answers = [await both.listed(key) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["ratelimit-policy"] == '"requests";q=2;w=60'
    reviewing, _ = await both.key("reviewer", "review")
    refused = await both.listed(reviewing)
    assert (refused.status_code, "read" in refused.json()["detail"]) == (403, True)


async def test_what_opens_nothing_says_why(both: Both) -> None:
    key, key_id = await both.key("newsroom", "read")
    other = {"Authorization": f"Bearer {ApiKey.make(key_id).written()}"}
    for wrong, why in (
        (other, "is not known"),
        ({"Authorization": "Bearer be_x"}, "is no API key"),
        ({}, ""),
    ):
        answer = await both.listed(wrong)
        assert (answer.status_code, why in answer.json()["detail"]) == (401, True)
    assert (await both.listed(key)).status_code == 200
    (await both.orchestrator.delete(f"/v1/keys/{key_id}", headers=SERVICE)).raise_for_status()
    both.seconds[0] += GOOD_FOR_SECONDS
    revoked = await both.listed(key)
    assert (revoked.status_code, "was revoked" in revoked.json()["detail"]) == (401, True)


@pytest.mark.extended
async def test_while_the_orchestrator_is_away_the_service_key_opens_and_whom_it_knows(both: Both) -> None:
    known, _ = await both.key("known", "read")
    unknown, _ = await both.key("unknown", "read")
    assert (await both.listed(known)).status_code == 200
    both.between.cut()
    for key, status in ((known, 200), (unknown, 503), (SERVICE, 200)):
        assert (await both.listed(key)).status_code == status
    both.seconds[0] += GOOD_FOR_SECONDS
    away = await both.listed(known)
    assert (away.status_code, away.headers["retry-after"]) == (503, "5")
    assert "the orchestrator, which knows API keys" in away.json()["detail"]


async def test_whose_a_key_is_is_told_to_who_shows_its_hash(both: Both) -> None:
    key, key_id = await both.key("newsroom", "review", "read", brands=["acme"])
    made = ApiKey.read(key["Authorization"].removeprefix("Bearer "))
    assert made is not None
    pair = {"X-Service-Key": PAIR.get_secret_value()}

    async def told(key_id: str, hashed: str, caller: dict[str, str] = pair) -> httpx.Response:
        return await both.orchestrator.get(
            f"/v1/keys/{key_id}/introspection", headers=caller | {"X-Key-Hash": hashed}
        )

    assert (await told(key_id, made.hashed().hex())).json() == {
        "active": True,
        "detail": None,
        "name": "newsroom",
        "scopes": ["read", "review"],
        "brands": ["acme"],
        "per_minute": 600,
    }
    wrong = [await told(key_id, "0" * 64), await told("0" * 12, made.hashed().hex()), await told(key_id, "")]
    assert {answer.text for answer in wrong} == {wrong[0].text}
    assert wrong[0].json()["active"] is False
    assert (await told(key_id, made.hashed().hex(), key)).status_code == 403


@pytest.mark.parametrize("service", ["research", "publisher", "social", "monitor", "events"])
async def test_a_service_opens_to_no_key_that_nobody_vouches_for(service: str, tmp_path: Path) -> None:
    app = served_by(service, tmp_path, orchestrator_url="http://127.0.0.1:1")
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    key = {"Authorization": f"Bearer {ApiKey.make().written()}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as http:
        for method, path in routes_of(app):
            answer = await http.request(method.upper(), path, headers=key)
            assert (answer.status_code, "the orchestrator, which knows API keys" in answer.text) == (
                503,
                True,
            )
