"""Two processes that send to webhooks, and both are killed in the middle of a request."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from brandctl.local import processes, services
from chassis.database.pool import Connections
from chassis.testing import eventually, running, serving
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentPublished
from events.log import store as log_store
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from tests.fixtures.event_log import KEY, published

NAMES = ("crm", "data")


@dataclass
class Receiver:
    came: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        await request.body()
        self.came.append(request.headers["webhook-id"])
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.answers.wait()
        finally:
            self.at_once -= 1
        await PlainTextResponse("ok")(scope, receive, send)


@pytest.fixture
async def gateway(make_database: Callable[..., Awaitable[str]]) -> AsyncIterator[httpx.AsyncClient]:
    settings = {
        "database_url": await make_database("gateway"),
        "service_key": KEY,
        "http_port": 0,
        "gateway_keys": Fernet.generate_key().decode(),
        "egress_reachable_networks": "127.0.0.1/32",
    }
    async with running(GatewayApp(GatewaySettings.model_validate(settings))) as app:
        url = f"http://127.0.0.1:{app.port}"
        headers = {"X-Service-Key": KEY}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
            yield client


@pytest.fixture
async def receivers(gateway: httpx.AsyncClient) -> AsyncIterator[dict[str, Receiver]]:
    made = {name: Receiver() for name in NAMES}
    async with AsyncExitStack() as stack:
        for name, each in made.items():
            url = await stack.enter_async_context(serving(each))
            fast = {"per_minute": 100_000, "together": 1000, "at_once": 100}
            connected = await gateway.put(
                f"/v1/accounts/{name}",
                json={
                    "kind": "webhook",
                    "brands": ["acme"],
                    "settings": {"url": url} | fast,
                    "credentials": {},
                },
            )
            connected.raise_for_status()
        yield made
        for each in made.values():
            each.answers.set()


async def is_ready(url: str) -> bool:
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"{url}/health/ready")).status_code == 200
    except httpx.TransportError:
        return False


def events(number: int) -> list[DomainMessage[Any]]:
    return [
        DomainMessage[ContentPublished](
            event_id=new_event_id(),
            type="content.published",
            source="publisher",
            timestamp=datetime.now(UTC),
            payload=published(),
        )
        for _ in range(number)
    ]


@pytest.mark.extended
async def test_two_processes_send_each_event_once_in_order_and_lose_none_when_they_are_killed(
    broker_urls: dict[str, str],
    make_database: Callable[..., Awaitable[str]],
    gateway: httpx.AsyncClient,
    receivers: dict[str, Receiver],
    tmp_path: Path,
) -> None:
    database_url = await make_database("events")
    children: list[processes.ChildProcess] = []

    async def start() -> str:
        """Starts a process and returns its address, once it is ready."""
        addresses = services.choose_addresses()
        environment = services.environment(
            "events",
            addresses=addresses,
            rabbitmq_url=broker_urls["events"],
            database_url=database_url,
            service_key=KEY,
            corpus=tmp_path,
        ) | {"GATEWAY_URL": str(gateway.base_url).rstrip("/"), "EVENTS_TO_GATEWAY_KEY": KEY}
        children.append(services.start("events", environment, tmp_path))
        url = addresses.url("events")

        await eventually(lambda: is_ready(url))
        return url

    connections = Connections(database_url, name="test", size=2)
    await connections.open()

    async def happen(number: int) -> list[str]:
        messages = events(number)
        async with connections.connection() as connection, connection.transaction():
            await log_store.append(connection, messages)
        return [str(each.event_id) for each in messages]

    try:
        url, _ = await start(), await start()
        async with httpx.AsyncClient(base_url=url, headers={"X-Service-Key": KEY}, trust_env=False) as api:
            for name in NAMES:
                form = {"account": name, "order": "strict"}
                (await api.put(f"/v1/brands/acme/webhooks/{name}", json=form)).raise_for_status()
        for each in receivers.values():
            each.answers.set()
        ids = await happen(15)
        await eventually(lambda: all(each.came == ids for each in receivers.values()))
        assert {each.most_at_once for each in receivers.values()} == {1}

        for each in receivers.values():
            each.answers.clear()
        ids += await happen(2)
        await eventually(lambda: all(len(each.came) == 16 for each in receivers.values()))
        for child in children:
            child.process.kill()
            child.process.wait()
        for each in receivers.values():
            each.answers.set()
        await start()
        async with connections.connection() as connection:
            await connection.execute("update deliveries set available_at = now()")
            await connection.execute("update webhooks set leased_until = now()")
        await eventually(lambda: all(len(each.came) >= 18 for each in receivers.values()))
        for each in receivers.values():
            # The one that was under way came again, under its id.
            assert each.came == [*ids[:16], *ids[15:]]
    finally:
        await connections.close()
        await asyncio.to_thread(services.stop, children)
