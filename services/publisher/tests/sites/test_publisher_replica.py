"""Sites that are read from a real streaming standby: while it is current, and when it is killed, silent, behind or no standby."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import httpx
import pytest
from starlette.applications import Starlette
from structlog.testing import capture_logs

from brandctl.local import postgres
from chassis.database.pool import Connections
from chassis.observing.metrics import Families
from chassis.testing import TcpProxy, eventually
from envelope.brand import CATALOGUE
from messaging import Database, Service
from messaging.broker.publisher import Publisher
from messaging.doctor import Status
from messaging.flow.relay import Relay
from messaging.storage.migrations import migrate
from publisher import replica as replicas
from publisher import store
from publisher.app import build
from publisher.http_api import create_app
from publisher.replica import Replica, ReplicaFirst, ReplicaMetrics
from publisher.settings import Settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls

ORIGIN = "https://blog.example.org"
SITE = "/sites/daily-grind/"
PAGE = f"{SITE}cold-brew"
PATHS = (SITE, PAGE, f"{SITE}feed.xml", f"{SITE}rss.xml", f"{SITE}sitemap.xml", f"{SITE}robots.txt")
LATER = "2026-02-01T10:00:00Z"
MOST_SECONDS = 4.0

MakePublication = Callable[..., RenderedArticle]

pytestmark = pytest.mark.extended


class Servers:
    """A primary, its standby behind a proxy, and the sites that are read from both."""

    def __init__(
        self,
        primary: postgres.PostgresNode,
        standby: postgres.PostgresNode,
        database: Database,
        replica: Replica,
        client: httpx.AsyncClient,
        to_standby: TcpProxy,
        publication: MakePublication,
    ) -> None:
        self.primary, self.standby = primary, standby
        self.database, self.replica = database, replica
        self.client, self.to_standby = client, to_standby
        self._publication = publication
        self._content_id = str(uuid4())

    async def publish(self, **changes: Any) -> None:
        async with self.database.transaction() as tx:
            await store.publish(
                tx.connection, self._publication(**{"content_id": self._content_id, **changes})
            )

    async def execute(self, node: postgres.PostgresNode, statement: str) -> Any:
        connection = await asyncpg.connect(node.url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    async def used(self) -> None:
        await eventually(lambda: not self.replica.trouble, within=30)

    async def not_used(self) -> None:
        await eventually(lambda: bool(self.replica.trouble), within=30)

    async def shows(self, text: str) -> None:
        async def shown() -> bool:
            return text in (await self.client.get(PAGE)).text

        await eventually(shown, within=30)

    def asked_of_primary(self) -> int:
        """Statements of pages in the log of the primary."""
        log = self.primary.child.log.read_text()
        return sum(
            "from sites" in line or "from pages" in line or "join sites" in line for line in log.splitlines()
        )


@asynccontextmanager
async def database_of(url: str) -> AsyncIterator[Database]:
    connections = Connections(url, name="publisher test", size=6)
    await connections.open()
    try:
        nobody = Publisher("amqp://127.0.0.1:1/", name="none")
        yield Database(connections, Relay(connections, nobody), "publisher", CATALOGUE)
    finally:
        await connections.close()


@pytest.fixture
async def servers(tmp_path: Path, publication: MakePublication) -> AsyncIterator[Servers]:
    settings = {"wal_level": "replica", "max_wal_senders": "4", "log_min_duration_statement": "0"}
    async with AsyncExitStack() as stack:
        primary = postgres.launch(tmp_path / "primary", durable=False, settings=settings)
        stack.callback(primary.stop)
        await asyncio.to_thread(primary.wait)
        await migrate(primary.url, ["publisher"])
        standby = primary.make_standby(tmp_path / "standby", through=primary.port)
        standby = standby.start_again(log=tmp_path / "standby.log")
        stack.callback(standby.stop)
        await asyncio.to_thread(standby.wait)
        to_standby = await stack.enter_async_context(TcpProxy("127.0.0.1", standby.port))
        database = await stack.enter_async_context(database_of(primary.url))
        through = urlsplit(primary.url)._replace(
            netloc=f"{postgres.SUPERUSER}:{primary.password}@127.0.0.1:{to_standby.port}"
        )
        replica = Replica(through.geturl(), database, most_seconds=MOST_SECONDS, size=4)
        stack.push_async_callback(replica.aclose)
        urls = SiteUrls.under(ORIGIN)
        sites = [create_app(database, urls, articles_per_page=2, pages_from=each) for each in (None, replica)]
        app = ReplicaFirst(*sites, replica)
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN)
        await stack.enter_async_context(client)
        found = Servers(primary, standby, database, replica, client, to_standby, publication)
        await found.publish()
        following = asyncio.create_task(replica.follow())
        try:
            await found.used()
            await found.shows("Cold brew at home")
            yield found
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def test_pages_feeds_and_site_maps_ask_the_primary_nothing(servers: Servers) -> None:
    before, by_primary = servers.asked_of_primary(), servers.replica.answers["primary"]
    for path in PATHS:
        answer = await servers.client.get(path)
        assert answer.status_code == 200, path
    assert (await servers.client.head(PAGE)).status_code == 200
    assert servers.asked_of_primary() == before
    assert servers.replica.answers["primary"] == by_primary
    # The test can fail: this one the primary answers.
    assert (await servers.client.get(f"{SITE}never-was")).status_code == 404
    assert servers.asked_of_primary() > before


async def test_what_the_standby_lacks_and_what_is_sent_goes_to_the_primary(servers: Servers) -> None:
    await servers.execute(servers.standby, "select pg_wal_replay_pause()")
    await servers.publish(content_id=str(uuid4()), slug="hot-brew", title="Hot brew at home")
    answer = await servers.client.get(f"{SITE}hot-brew")
    assert (answer.status_code, "Hot brew at home" in answer.text) == (200, True)
    by_replica = servers.replica.answers["replica"]
    await servers.client.post(f"{SITE}newsletter/", data={"address": "ada@example.org"})
    assert servers.replica.answers["replica"] == by_replica


async def test_pages_go_on_when_the_standby_is_killed_and_it_is_told(servers: Servers) -> None:
    with capture_logs() as logs:
        await asyncio.to_thread(servers.standby.child.stop, signal.SIGKILL)
        for path in PATHS:
            assert (await servers.client.get(path)).status_code == 200, path
        await servers.not_used()
        await eventually(lambda: any(entry["event"] == "replica_not_used" for entry in logs), within=10)
    finding = await servers.replica.probe()
    assert finding.status is Status.WARNING
    assert "remove REPLICA_DATABASE_URL" in finding.advice
    (used, *_) = ReplicaMetrics(servers.replica, Families("brand_engine")).collect()
    assert used.samples[0].value == 0
    again = servers.standby.start_again(log=servers.standby.folder.with_name("standby-2.log"))
    try:
        await asyncio.to_thread(again.wait)
        await servers.used()
        assert (await servers.replica.probe()).status is Status.OK
        by_replica = servers.replica.answers["replica"]
        assert (await servers.client.get(PAGE)).status_code == 200
        assert servers.replica.answers["replica"] == by_replica + 1
    finally:
        await asyncio.to_thread(again.stop, remove=False)


async def test_a_silent_standby_delays_a_visitor_by_a_bounded_time_and_the_next_not_at_all(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "_FIRST_PAUSE", 600.0)
    servers.replica.served("replica")  # takes the pause up
    servers.to_standby.black_hole()
    clock = asyncio.get_running_loop().time
    began = clock()
    assert (await servers.client.get(PAGE)).status_code == 200
    waited = clock() - began
    by_replica = servers.replica.answers["replica"]
    assert (await servers.client.get(PAGE)).status_code == 200
    assert servers.replica.trouble
    assert servers.replica.answers["replica"] == by_replica
    # The bound of the code and room for a busy machine; the database's own limit for a statement is 30 seconds.
    assert waited < replicas.ANSWER_SECONDS + 8


async def test_a_standby_that_falls_behind_is_left_once_what_it_shows_is_too_old(servers: Servers) -> None:
    await servers.execute(servers.standby, "select pg_wal_replay_pause()")
    await servers.publish(title="Colder brew", updated_at=LATER)
    clock = asyncio.get_running_loop().time
    changed = clock()
    seen_old = 0
    while True:
        asked = clock()
        text = (await servers.client.get(PAGE)).text
        if "Colder brew" in text:
            break
        seen_old += 1
        assert asked - changed <= MOST_SECONDS, "what is shown is older than the bound"
        await asyncio.sleep(0.05)  # a visitor now and then
    assert "behind" in servers.replica.trouble
    assert seen_old, "the standby was behind, and nobody saw it"
    await servers.execute(servers.standby, "select pg_wal_replay_resume()")
    await servers.used()
    await servers.shows("Colder brew")


async def test_an_older_page_of_the_standby_is_not_kept_as_the_newer_one(servers: Servers) -> None:
    await servers.execute(servers.standby, "select pg_wal_replay_pause()")
    await servers.publish(title="Colder brew", updated_at=LATER)
    assert "Colder brew" not in (await servers.client.get(PAGE)).text
    await servers.not_used()
    assert "Colder brew" in (await servers.client.get(PAGE)).text


async def test_a_promoted_standby_is_no_longer_used(servers: Servers) -> None:
    await servers.execute(servers.standby, "select pg_promote(wait => true)")
    await servers.not_used()
    await eventually(lambda: "no standby" in servers.replica.trouble, within=10)
    assert (await servers.client.get(PAGE)).status_code == 200


async def test_another_database_is_never_used(
    servers: Servers, make_database: Callable[[str], Awaitable[str]]
) -> None:
    other = Replica(await make_database("publisher"), servers.database, most_seconds=60, size=2)
    await other._connections.open()
    try:
        await other.look()
        assert "no standby of the service's own database" in other.trouble
    finally:
        await other.aclose()


async def test_a_service_with_the_setting_has_the_probe_and_the_metrics_and_goes_on_without_a_standby(
    make_database: Callable[[str], Awaitable[str]],
) -> None:
    def settings(**changes: Any) -> Settings:
        return Settings(
            database_url=url,
            rabbitmq_url="amqp://127.0.0.1:1/",
            service_key="a-key-for-tests-only-0123456789",
            **changes,
        )

    url = await make_database("publisher")
    without = build(settings())
    assert "brand_engine_replica_used" not in await metrics_of(without)
    service = build(settings(replica_database_url="postgresql://nobody:none@127.0.0.1:1/none"))
    shown = await metrics_of(service)
    assert "brand_engine_replica_used 0.0" in shown
    assert 'brand_engine_site_answers_total{database="primary"} 0.0' in shown
    report = await service.database.doctor.report()
    (finding,) = [each for each in report.findings if each.probe == "replica"]
    assert (finding.status, "it was not looked at yet" in finding.found) == (Status.WARNING, True)


async def metrics_of(service: Service) -> str:
    app = Starlette(routes=[service.metrics.route()])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        return (await client.get("/metrics")).text
