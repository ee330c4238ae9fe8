"""Commands by AMQP, from a client that nobody here wrote: what is done, once, for whom, and what a user may not do."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import httpx
import pika
import pytest
from pika.exceptions import (
    ChannelClosedByBroker,
    ConnectionClosedByBroker,
    ProbableAuthenticationError,
    UnroutableError,
)

from brandctl.local import broker_users
from chassis.database.pool import DatabaseUnavailableError
from chassis.testing import eventually, running
from messaging.broker.outside_queue import OutsideMessage, OutsideQueue
from messaging.testing import Broker
from messaging.topology import OUTSIDE, OUTSIDE_KEY, OUTSIDE_QUEUE, outside
from messaging.topology.users import Credentials
from orchestrator.app import build
from orchestrator.settings import Settings

KEY = "test-service-key-0123456789"


@dataclass
class OtherSystem:
    """A system with an API key and its user at the broker."""

    url: str
    user: str
    key: str
    key_id: str

    def connection(self) -> pika.BlockingConnection:
        return pika.BlockingConnection(pika.URLParameters(self.url))

    async def publish(
        self, *bodies: Any, user_id: str | None = "", exchange: str = OUTSIDE, routing_key: str = OUTSIDE_KEY
    ) -> None:
        """Publishes with confirms, each message as a CloudEvent; `user_id` by default is its own."""

        def send() -> None:
            connection = self.connection()
            try:
                channel = connection.channel()
                channel.confirm_delivery()
                for body in bodies:
                    properties = pika.BasicProperties(
                        content_type="application/cloudevents+json",
                        delivery_mode=2,
                        user_id=self.user if user_id == "" else user_id,
                    )
                    content = body if isinstance(body, bytes) else json.dumps(body).encode()
                    channel.basic_publish(exchange, routing_key, content, properties, mandatory=True)
            finally:
                if connection.is_open:
                    connection.close()

        await asyncio.to_thread(send)


def start(keyword: str, brand: str = "acme", **changed: Any) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": uuid4().hex,
        "source": "/shop",
        "type": "cycle.start",
        "time": datetime.now(UTC).isoformat(),
        "data": {"brand_slug": brand, "keywords": [keyword]},
    } | changed


@pytest.fixture
async def settings(broker_urls: dict[str, str], orchestrator_url: str) -> Settings:
    return Settings(
        rabbitmq_url=broker_urls["orchestrator"],
        database_url=orchestrator_url,
        service_key=KEY,
        http_port=0,
        research_url="http://127.0.0.1:1",
    )


Register = Callable[..., Awaitable[OtherSystem]]


@pytest.fixture
async def register(
    api: httpx.AsyncClient, rabbitmq_url: str, rabbitmq_api_url: str
) -> AsyncIterator[Register]:
    """Makes a key and its user at the broker, as `brandctl` does."""
    made: list[str] = []

    async def make(*scopes: str, brands: list[str] | None = None) -> OtherSystem:
        for slug in ("acme", "rival"):
            (await api.put(f"/v1/brands/{slug}", json={"name": slug})).raise_for_status()
        wanted = {"name": uuid4().hex, "scopes": list(scopes) or ["submit"], "brands": brands}
        key = (await api.post("/v1/keys", json=wanted)).raise_for_status().json()
        key_id = key["about"]["key_id"]
        made.append(key_id)
        user = outside.add(rabbitmq_api_url, broker_users.vhost_of(rabbitmq_url), key_id)
        return OtherSystem(broker_users.url_of(rabbitmq_url, user), user.user, key["key"], key_id)

    yield make
    for key_id in made:
        outside.remove(rabbitmq_api_url, key_id)


async def keywords(api: httpx.AsyncClient) -> list[str]:
    found = (await api.get("/v1/keywords")).raise_for_status().json()["items"]
    return sorted(each["keyword"] for each in found)


async def refusals(api: httpx.AsyncClient, system: OtherSystem) -> list[dict[str, Any]]:
    answer = await api.get(f"/v1/keys/{system.key_id}/refused-commands")
    found: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
    return found


async def test_pika_sends_commands_that_are_done_once_also_over_http(
    api: httpx.AsyncClient, register: Register, settings: Settings
) -> None:
    shop = await register()
    one, other = start("cold brew"), start("pour over")
    # Before anybody consumes: the queue keeps them.
    await shop.publish(one, one)
    async with running(build(settings)):

        async def both() -> bool:
            return await keywords(api) == ["cold brew", "pour over"]

        await shop.publish(other, one)
        await eventually(both)
        api.headers.pop("X-Service-Key")
        again = await api.post("/v1/messages", json=one, headers={"Authorization": f"Bearer {shop.key}"})
        api.headers["X-Service-Key"] = KEY
    assert again.json()["results"][0]["status"] == "duplicate"
    assert await keywords(api) == ["cold brew", "pour over"]
    assert await refusals(api, shop) == []


async def test_a_user_has_the_scopes_and_brands_of_its_key_and_learns_of_refusals(
    api: httpx.AsyncClient, register: Register, settings: Settings
) -> None:
    shop, reader = await register("submit", brands=["acme"]), await register("read")
    taken = start("tea")
    bad: list[Any] = [
        start("mate", "rival"),
        start("mate", id="publish-1", type="content.publish"),
        start("mate", time="2020-01-01T00:00:00Z"),
        b"no json",
        b"[" * 100_000,
        [start("a list")],
        taken | {"data": {"brand_slug": "acme", "keywords": ["something else"]}},
    ]
    async with running(build(settings)):
        await reader.publish(start("oat"))
        await shop.publish(taken, *bad, start("last"))

        async def last() -> bool:
            return "last" in await keywords(api)

        await eventually(last)
        assert await keywords(api) == ["last", "tea"]
        assert [each["code"] for each in reversed(await refusals(api, shop))] == [
            "unknown_brand",
            "scope_missing",
            "stale_message",
            "invalid_message",
            "invalid_message",
            "invalid_message",
            "message_id_used",
        ]
        assert [each["code"] for each in await refusals(api, reader)] == ["scope_missing"]
        named = next(each for each in await refusals(api, shop) if each["message_id"] == "publish-1")
        assert named["type"] == "content.publish"
        # A revoked key closes its user's way in, too.
        (await api.delete(f"/v1/keys/{shop.key_id}")).raise_for_status()
        await shop.publish(start("too late"))

        async def refused() -> bool:
            return (await refusals(api, shop))[0]["code"] == "unauthorized"

        await eventually(refused)
    assert "too late" not in await keywords(api)


async def test_a_user_may_publish_to_one_exchange_and_nothing_else(
    register: Register, rabbitmq_url: str
) -> None:
    shop, other = await register(), await register()

    def tried(act: Callable[[Any], Any]) -> int:
        connection = shop.connection()
        try:
            channel = connection.channel()
            channel.confirm_delivery()
            act(channel)
        except (ChannelClosedByBroker, ConnectionClosedByBroker) as error:
            return int(error.reply_code)
        finally:
            if connection.is_open:
                connection.close()
        return 0

    forbidden: list[Callable[[Any], Any]] = [
        lambda c: c.basic_publish("commands", "publisher-commands", b"{}"),
        lambda c: c.basic_publish("brand-events", "content.published", b"{}"),
        lambda c: c.basic_publish("returns", "orchestrator-commands", b"{}"),
        lambda c: c.basic_publish("", OUTSIDE_QUEUE, b"{}"),
        lambda c: c.queue_declare("mine"),
        lambda c: c.queue_declare("", exclusive=True),
        lambda c: c.exchange_declare("mine"),
        lambda c: c.queue_bind(OUTSIDE_QUEUE, OUTSIDE, "more"),
        lambda c: c.queue_purge(OUTSIDE_QUEUE),
        lambda c: c.queue_delete(OUTSIDE_QUEUE),
        lambda c: c.basic_get(OUTSIDE_QUEUE),
        lambda c: list(c.consume("orchestrator-commands", inactivity_timeout=1)),
    ]
    assert [await asyncio.to_thread(tried, each) for each in forbidden] == [403] * len(forbidden)
    with pytest.raises(ChannelClosedByBroker) as wrong:
        await shop.publish(start("tea"), user_id=other.user)
    assert wrong.value.reply_code == 406
    with pytest.raises(UnroutableError):
        await shop.publish(start("tea"), routing_key="elsewhere")
    async with Broker.connected(rabbitmq_url) as broker:
        assert await broker.depth(OUTSIDE_QUEUE) == 0


async def test_a_message_without_its_user_is_dropped(
    api: httpx.AsyncClient, register: Register, settings: Settings, rabbitmq_url: str
) -> None:
    shop = await register()
    await shop.publish(start("nobody's"), user_id=None)
    # As a service or an administrator would forge it.
    async with Broker.connected(rabbitmq_url) as broker:
        forged = json.dumps(start("an administrator's")).encode()
        await broker.publish(OUTSIDE, OUTSIDE_KEY, forged, user_id=urlsplit(rabbitmq_url).username)
    await shop.publish(start("last"))
    async with running(build(settings)):

        async def last() -> bool:
            return bool(await keywords(api))

        await eventually(last)
    assert await keywords(api) == ["last"]
    assert await refusals(api, shop) == []


async def test_a_removed_user_is_disconnected_and_a_renewed_one_has_another_password(
    register: Register, rabbitmq_url: str, rabbitmq_api_url: str
) -> None:
    shop = await register()
    vhost = broker_users.vhost_of(rabbitmq_url)
    with pytest.raises(outside.UserExistsError):
        outside.add(rabbitmq_api_url, vhost, shop.key_id)
    renewed = broker_users.url_of(rabbitmq_url, outside.renew(rabbitmq_api_url, vhost, shop.key_id))
    with pytest.raises(ProbableAuthenticationError):
        await shop.publish(start("tea"))
    shop.url = renewed
    await shop.publish(start("tea"))
    assert shop.key_id in outside.list_keys(rabbitmq_api_url)
    assert outside.remove(rabbitmq_api_url, shop.key_id)
    with pytest.raises(ProbableAuthenticationError):
        await shop.publish(start("tea"))
    assert not outside.remove(rabbitmq_api_url, shop.key_id)
    with pytest.raises(outside.UnknownUserError):
        outside.renew(rabbitmq_api_url, vhost, shop.key_id)
    assert quote(shop.key_id) not in outside.list_keys(rabbitmq_api_url)


async def test_a_consumer_waits_for_the_queue_and_for_the_database_and_dies_without_loss(
    register: Register, rabbitmq_url: str
) -> None:
    came: list[bytes] = []
    is_away = asyncio.Event()

    async def handle(message: OutsideMessage) -> None:
        came.append(message.body)
        if not is_away.is_set():
            is_away.set()
            raise DatabaseUnavailableError("away")
        if len(came) == 3:
            await asyncio.Event().wait()  # until it is cancelled

    def consuming() -> asyncio.Task[None]:
        queue = OutsideQueue(rabbitmq_url, OUTSIDE_QUEUE, name="test", handle=handle, absent_seconds=0.05)
        return asyncio.create_task(queue.run())

    consumer = consuming()
    shop = await register()
    await shop.publish(b"1", b"2")
    await eventually(lambda: len(came) == 3)
    assert came == [b"1", b"1", b"2"]
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)
    another = consuming()
    await eventually(lambda: len(came) == 4)
    assert came[3] == b"2"
    another.cancel()
    await asyncio.gather(another, return_exceptions=True)


def test_names_of_users_name_their_keys() -> None:
    assert outside.key_of(outside.user_of("4fX0w8QbVn2L")) == "4fX0w8QbVn2L"
    assert [outside.key_of(each) for each in (None, "orchestrator", "x-outside-4fX0w8QbVn2L")] == [None] * 3
    assert Credentials("a", "b").user == "a"


def example(language: str) -> str:
    """The program of the page that sends by AMQP."""
    page = (Path(__file__).parents[4] / "docs" / "commands.md").read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (program,) = [each for each in found if "BROKER_URL" in each]
    return str(program)


async def run(url: str, *command: str, folder: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "BROKER_URL": url}
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, cwd=folder, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr


async def test_the_program_of_the_page_sends_a_command(
    api: httpx.AsyncClient, register: Register, settings: Settings, tmp_path: Path
) -> None:
    shop = await register()
    await run(shop.url, sys.executable, "-c", example("python"), folder=tmp_path)
    async with running(build(settings)):

        async def done() -> bool:
            return await keywords(api) == ["cold brew"]

        await eventually(done)


@pytest.mark.real
async def test_amqplib_sends_a_command(
    api: httpx.AsyncClient, register: Register, settings: Settings, tmp_path: Path
) -> None:
    """Takes Node.js with npm, and the registry of its packages."""
    shop = await register()
    await run("", "npm", "install", "--silent", "--no-audit", "--no-fund", "amqplib", folder=tmp_path)
    (tmp_path / "send.js").write_text(example("js"))
    await run(shop.url, "node", "send.js", folder=tmp_path)
    async with running(build(settings)):

        async def done() -> bool:
            return await keywords(api) == ["pour over"]

        await eventually(done)
