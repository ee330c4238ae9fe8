"""The numbers of the weekly summary are those that the services' own APIs tell, under the keys of those two."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.http.client import Peer
from chassis.http.service_key import PairAccess, PairKeys
from chassis.testing import running, serving
from envelope.brand import CATALOGUE
from gateway.app import GatewayApp as GatewayProcess
from gateway.settings import Settings as GatewaySettings
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from monitor.notifications import ActivityClient, NotifierGateway, SummaryComposer
from monitor.notifications.domain import NotificationRoute, SummarySchedule, Weekday
from orchestrator.api import RequestAuthenticator, http_api
from orchestrator.app import READ_BY_MONITOR as OF_ORCHESTRATOR
from social.api import create_api
from social.app import READ_BY_MONITOR as OF_SOCIAL
from social.calendar import SlotScheduler
from social.http_api import create_app
from social.sending import DuePosts
from social.urls import FeedUrls

KEY, PAIR = "test-service-key-0123456789", "of-the-monitor-alone-7Kq"
NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@dataclass
class System:
    databases: dict[str, Database]
    apis: dict[str, httpx.AsyncClient]
    summaries: SummaryComposer

    async def run(self, service: str, statement: str, *values: Any) -> None:
        async with self.databases[service].transaction() as tx:
            await tx.connection.execute(statement, *values)

    async def asked(self, service: str, path: str, **query: str) -> Any:
        return (await self.apis[service].get(path, params=query)).raise_for_status().json()

    async def told(self, brand: str | None) -> list[str]:
        mondays = SummarySchedule(Weekday.MONDAY, time(8), ZoneInfo("UTC"))
        content = await self.summaries.content(
            NotificationRoute("ops", "ops", brand=brand, summary=mondays), NOW
        )
        paragraphs: list[str] = content["paragraphs"]
        return paragraphs


@pytest.fixture
async def system(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[System]:
    async with AsyncExitStack() as stack:
        of, urls = {}, {}
        for service in ("orchestrator", "social", "monitor", "gateway"):
            urls[service] = await make_database(service)
            connections = Connections(urls[service], name=f"{service} test", size=3)
            await connections.open()
            stack.push_async_callback(connections.close)
            relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
            of[service] = Database(connections, relay, service, CATALOGUE)
        own = ServiceKey(SecretStr(KEY))
        of_orchestrator = PairKeys(
            RequestAuthenticator(of["orchestrator"], own),
            [PairAccess("monitor", SecretStr(PAIR), OF_ORCHESTRATOR)],
        )
        feeds = FeedUrls.under("http://social.example")
        social = create_api(
            of["social"],
            PairKeys(own, [PairAccess("monitor", SecretStr(PAIR), OF_SOCIAL)]),
            feeds,
            DuePosts(of["social"], SlotScheduler(), at_once=1),
            feeds=create_app(of["social"], feeds, posts_per_page=5),
        )
        settings = GatewaySettings.model_validate(
            {
                "database_url": urls["gateway"],
                "service_key": KEY,
                "monitor_to_gateway_key": PAIR,
                "http_port": 0,
                "gateway_keys": Fernet.generate_key().decode(),
                "cap_all_month": 50,
            }
        )
        process = await stack.enter_async_context(running(GatewayProcess(settings)))
        places = {
            "orchestrator": await stack.enter_async_context(
                serving(http_api(of["orchestrator"], of_orchestrator))
            ),
            "social": await stack.enter_async_context(serving(social)),
            "gateway": f"http://127.0.0.1:{process.port}",
        }
        apis = {
            name: await stack.enter_async_context(
                httpx.AsyncClient(base_url=url, headers={"X-Service-Key": KEY}, trust_env=False)
            )
            for name, url in places.items()
        }
        peers = {name: Peer(name, url, "", SecretStr(PAIR)) for name, url in places.items()}
        gateway = NotifierGateway(peers["gateway"])
        orchestrator, posts = ActivityClient(peers["orchestrator"]), ActivityClient(peers["social"])
        for each in (gateway, orchestrator, posts):
            stack.push_async_callback(each.aclose)
        yield System(of, apis, SummaryComposer(of["monitor"], orchestrator, gateway, posts))


async def post(system: System, brand: str, account: str, state: str, at: datetime | None) -> None:
    await system.run(
        "social",
        "insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, state,"
        " due_at, posted_at) values (gen_random_uuid(), $1, gen_random_uuid(), $2, $2, '{}', 'mastodon', $2, 'Tea.', $3, $4,"
        " case when $3 = 'posted' then $4::timestamptz end)",
        brand,
        account,
        state,
        at,
    )


async def test_what_is_told_is_what_the_apis_say(system: System) -> None:
    for brand in ("acme", "rival"):
        made = await system.apis["orchestrator"].put(f"/v1/brands/{brand}", json={"name": brand})
        made.raise_for_status()
    handed_in = {"keywords": ["tea", "milk", "cocoa"]}
    (await system.apis["orchestrator"].post("/v1/brands/acme/research", json=handed_in)).raise_for_status()
    for keyword, state, url in (("tea", "completed", "https://acme.example/tea"), ("milk", "refused", None)):
        await system.run(
            "orchestrator",
            "update keywords set state = $2, published_url = $3 where keyword = $1",
            keyword,
            state,
            url,
        )
    for state, at in (("posted", NOW - DAY), ("posted", NOW - 6 * DAY), ("posted", NOW - 8 * DAY)):
        await post(system, "acme", "mastodon-eu", state, at)
    await post(system, "acme", "mastodon-us", "posted", NOW - 2 * DAY)
    for state, when in (
        ("failed", NOW - DAY),
        ("failed", NOW - 9 * DAY),
        ("planned", NOW + DAY),
        ("waiting", None),
    ):
        await post(system, "acme", "mastodon-eu", state, when)
    await post(system, "rival", "mastodon-rival", "posted", NOW - DAY)
    await system.run(
        "social", "insert into accounts (brand_slug, channel, display_name) values ('acme', 'feed', 'Acme')"
    )
    for ago in (DAY, 10 * DAY):
        await system.run(
            "social",
            "insert into posts (post_id, brand_slug, content_id, channel, title, text, tags, link, drafts, posted_at)"
            " values ($1, 'acme', $2, 'feed', 'Tea', 'Tea.', '[]', null, '[]', $3)",
            uuid4(),
            uuid4(),
            NOW - ago,
        )
    for scope, period, begins, spent in (
        ("*", "day", NOW - 2 * DAY, 1_500_000),
        ("*", "day", NOW - 9 * DAY, 7_000_000),
        ("*", "month", NOW.replace(day=1), 8_500_000),
        ("acme", "day", NOW - 2 * DAY, 500_000),
    ):
        await system.run(
            "gateway",
            "insert into spend (scope, period, begins, spent) values ($1, $2, $3, $4)",
            scope,
            period,
            begins.date(),
            spent,
        )

    (recently, _) = [
        each["recently"]
        for each in (await system.asked("orchestrator", "/v1/activity", since=(NOW - 7 * DAY).isoformat()))[
            "items"
        ]
    ]
    assert (recently["published"], recently["refused"], recently["failed"]) == (1, 1, 0)
    week = (NOW - 7 * DAY).isoformat()
    acme, rival = (await system.asked("social", "/v1/activity", since=week))["items"]
    counted = {each["account"] or each["channel"]: each for each in acme["channels"]}
    assert {name: each["posted"] for name, each in counted.items()} == {
        "feed": 1,
        "mastodon-eu": 2,
        "mastodon-us": 1,
    }
    assert {name: each["failed"] for name, each in counted.items() if each["failed"]} == {"mastodon-eu": 1}
    assert (counted["mastodon-eu"]["waiting"], counted["mastodon-eu"]["planned"]) == (1, 1)
    assert [each["posted"] for each in rival["channels"]] == [1]
    day = f"{NOW - 7 * DAY:%-d %b}"
    (of_all,) = [
        each
        for each in (await system.asked("gateway", "/v1/spend", since=week[:10]))["scopes"]
        if each["scope"] == "*"
    ]
    assert (of_all["since"], of_all["month"]["spent"]) == (1_500_000, 8_500_000)

    out = "4 posts out: mastodon-eu 2, feed 1, mastodon-us 1. 1 post failed: mastodon-eu 1. 1 post to come."
    assert await system.told("acme") == [
        "1 article published, 1 keyword without an article, none failed.",
        *(f"{part}." for part in out.removesuffix(".").split(". ")),
        "Waiting for a person: 1 post.",
        f"Spent: $0.50 since {day}; $0.00 of the $30.00 that may be spent this month.",
        "No message has died.",
    ]
    together = await system.told(None)
    assert together[0].startswith(
        "2 brands. 1 article published, 1 keyword without an article, none failed. 5 posts out: mastodon-eu 2, "
    )
    assert together[-2] == f"Spent: $1.50 since {day}; $8.50 of the $50.00 that may be spent this month."

    url = system.apis["social"].base_url
    async with httpx.AsyncClient(base_url=url, headers={"X-Service-Key": PAIR}, trust_env=False) as monitor:
        assert (await monitor.get("/v1/activity", params={"since": week})).status_code == 200
        assert (await monitor.get("/v1/posts")).status_code in {401, 403}
