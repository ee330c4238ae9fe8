"""The gateway's data of an erased brand: the orchestrator has it erased when all services have answered, and it is confirmed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from chassis.database.pool import Connections
from chassis.testing import running
from envelope import new_event_id
from envelope.brand import CATALOGUE
from gateway.app import GatewayApp
from gateway.settings import Settings
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.erasure import EVERYBODY, GatewayErasure, store
from tests.fixtures.accounts.other_side import KEY, client

pytestmark = pytest.mark.extended

PAIR = "of-orchestrator-and-gateway-7Kq"


@dataclass
class Both:
    orchestrator: Database
    gateway: Connections
    api: httpx.AsyncClient

    async def connect(self, name: str, *brands: str) -> None:
        account = {
            "kind": "mastodon",
            "brands": brands,
            "settings": {"url": "https://toots.example"},
            "credentials": {"token": f"token-of-{name}-3Xv"},
        }
        (await self.api.put(f"/v1/accounts/{name}", json=account)).raise_for_status()

    async def connected(self) -> dict[str, list[str]]:
        listed = (await self.api.get("/v1/accounts")).raise_for_status().json()["items"]
        return {each["name"]: each["brands"] for each in listed}

    async def erasing(self, *answered: str) -> Any:
        """Id of an erasure of `acme` that these have answered."""
        erasure_id = new_event_id()
        async with self.orchestrator.transaction() as tx:
            await store.insert_erasure(tx.connection, erasure_id, "acme", by="x")
            for service in answered:
                await store.insert_receipt(tx.connection, erasure_id, service, {})
        return erasure_id

    async def finish(self, url: str | None) -> bool:
        accounts = GatewayErasure(self.orchestrator, url, SecretStr(PAIR), EVERYBODY)
        try:
            return await accounts.finish()
        finally:
            await accounts.aclose()

    async def erasure(self) -> store.Erasure:
        async with self.orchestrator.connection() as connection:
            found = await store.find_erasure(connection, "acme")
        assert found is not None
        return found


@pytest.fixture
async def both(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Both]:
    async with AsyncExitStack() as stack:
        urls = {name: await make_database(name) for name in ("orchestrator", "gateway")}
        opened = {}
        for name, url in urls.items():
            opened[name] = Connections(url, name=f"{name} test", size=2)
            await opened[name].open()
            stack.push_async_callback(opened[name].close)
        relay = Relay(opened["orchestrator"], Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        given = {
            "database_url": urls["gateway"],
            "service_key": KEY,
            "http_port": 0,
            "gateway_keys": Fernet.generate_key().decode(),
            "orchestrator_to_gateway_key": PAIR,
        }
        gateway = await stack.enter_async_context(running(GatewayApp(Settings.model_validate(given))))
        api = await stack.enter_async_context(client(gateway))
        database = Database(opened["orchestrator"], relay, "orchestrator", CATALOGUE)
        yield Both(database, opened["gateway"], api)


async def test_its_accounts_go_when_all_have_answered_and_others_keep_theirs(both: Both) -> None:
    await both.connect("own", "acme")
    await both.connect("shared", "acme", "rival")
    await both.connect("rivals", "rival")
    await both.connect("everybodys", "*")
    url = str(both.api.base_url)
    erasure_id = await both.erasing("orchestrator", "monitor", "research", "social", "events")
    assert await both.finish(url)
    assert (await both.erasure()).ended_at is None
    assert len(await both.connected()) == 4

    async with both.orchestrator.transaction() as tx:
        await store.insert_receipt(tx.connection, erasure_id, "publisher", {})
    # Away: asked again later, and until then the name is not free.
    assert not await both.finish("http://127.0.0.1:1")
    assert (await both.erasure()).ended_at is None

    assert await both.finish(url)
    erasure = await both.erasure()
    assert erasure.ended_at is not None
    assert {each.service: each.removed for each in erasure.receipts}["gateway"] == {
        "accounts": 1,
        "shared_accounts": 1,
    }
    left = {"everybodys": ["*"], "rivals": ["rival"], "shared": ["rival"]}
    assert await both.connected() == left
    async with both.gateway.connection() as connection:
        assert await connection.fetchval("select count(*) from accounts where name = 'own'") == 0

    # A later brand of the name is another one: the same erasure once more takes nothing from it.
    await both.connect("newer", "acme")
    again = await both.api.put(f"/v1/erasures/{erasure_id}", json={"brand": "acme"})
    assert again.json()["removed"] == {"accounts": 1, "shared_accounts": 1}
    assert await both.connected() == left | {"newer": ["acme"]}


async def test_without_a_gateway_an_erasure_that_waits_for_one_ends(both: Both) -> None:
    await both.erasing("orchestrator", *EVERYBODY)
    assert await both.finish(None)
    erasure = await both.erasure()
    assert (erasure.ended_at is not None, "gateway" in erasure.answered) == (True, False)
