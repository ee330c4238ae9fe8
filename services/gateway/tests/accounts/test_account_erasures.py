"""An erasure with only the orchestrator's key: an administrator restores the accounts."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from pydantic import SecretStr

from chassis.testing import eventually, running
from gateway.app import GatewayApp
from gateway.settings import Settings
from tests.fixtures.accounts.other_side import OtherSide, client
from tests.fixtures.databases import Roles

PAIR = "orchestrator-to-gateway-key-for-tests"


@pytest.fixture
async def api(settings: Callable[[], Settings]) -> AsyncIterator[httpx.AsyncClient]:
    given = settings().model_copy(update={"orchestrator_to_gateway_key": SecretStr(PAIR)})
    async with running(GatewayApp(given)) as app, client(app) as made:
        yield made


@pytest.fixture
async def owner(database_url: str, database_roles: Roles) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_roles.owner(database_url))
    yield connection
    await connection.close()


async def connect(api: httpx.AsyncClient, other: OtherSide, name: str, *brands: str) -> None:
    body = {
        "kind": "webhook",
        "brands": list(brands),
        "settings": {"url": f"{other.url}/hook"},
    }
    (await api.put(f"/v1/accounts/{name}", json=body)).raise_for_status()


async def erase(api: httpx.AsyncClient, brand: str = "acme", erasure: object = None) -> str:
    """As a caller with the orchestrator's key."""
    erasure_id = str(erasure or uuid4())
    asked = await api.put(
        f"/v1/erasures/{erasure_id}", json={"brand": brand}, headers={"X-Service-Key": PAIR}
    )
    asked.raise_for_status()
    return erasure_id


async def connected(api: httpx.AsyncClient) -> dict[str, Any]:
    items = (await api.get("/v1/accounts")).raise_for_status().json()["items"]
    return {each["name"]: each["brands"] for each in items}


async def sealed(owner: asyncpg.Connection, table: str = "accounts") -> dict[str, bytes | None]:
    return {row["name"]: row["sealed"] for row in await owner.fetch(f"select name, sealed from {table}")}


async def test_what_an_erasure_took_is_given_back_with_its_credentials(
    api: httpx.AsyncClient, other: OtherSide, owner: asyncpg.Connection
) -> None:
    await connect(api, other, "own", "acme")
    await connect(api, other, "shared", "acme", "rival")
    await connect(api, other, "rivals", "rival")
    before, credentials = await connected(api), await sealed(owner)
    erasure_id = await erase(api)
    assert await connected(api) == {"shared": ["rival"], "rivals": ["rival"]}

    listed = (await api.get("/v1/erasures")).raise_for_status().json()["items"]
    assert [(each["erasure_id"], each["brand"], each["name"]) for each in listed] == [
        (erasure_id, "acme", "own"),
        (erasure_id, "acme", "shared"),
    ]
    restored = await api.post(f"/v1/erasures/{erasure_id}/restore")
    assert restored.json()["restored"] == ["own", "shared"]
    after = await connected(api)
    assert {name: sorted(brands) for name, brands in after.items()} == before
    assert await sealed(owner) == credentials
    checked = await api.post("/v1/accounts/own/check")
    assert checked.status_code == 200
    # Again, there is nothing left to give back, and what came late takes nothing more.
    again = await api.post(f"/v1/erasures/{erasure_id}/restore")
    assert again.json() == {"erasure_id": erasure_id, "restored": [], "name_taken": []}
    await erase(api, erasure=erasure_id)
    assert set(await connected(api)) == set(before)


async def test_an_account_that_has_the_name_now_stays(api: httpx.AsyncClient, other: OtherSide) -> None:
    await connect(api, other, "own", "acme")
    erasure_id = await erase(api)
    await connect(api, other, "own", "rival")
    first = (await api.post(f"/v1/erasures/{erasure_id}/restore")).json()
    assert (first["restored"], first["name_taken"]) == ([], ["own"])
    assert await connected(api) == {"own": ["rival"]}
    (await api.delete("/v1/accounts/own")).raise_for_status()
    second = (await api.post(f"/v1/erasures/{erasure_id}/restore")).json()
    assert (second["restored"], second["name_taken"]) == (["own"], [])
    assert await connected(api) == {"own": ["acme"]}


@pytest.mark.extended
async def test_after_a_week_nothing_of_it_is_left(
    api: httpx.AsyncClient, other: OtherSide, owner: asyncpg.Connection, settings: Callable[[], Settings]
) -> None:
    await connect(api, other, "own", "acme")
    erasure_id = await erase(api)
    await owner.execute("update erased_accounts set erased_at = erased_at - interval '7 days'")
    late = (await api.post(f"/v1/erasures/{erasure_id}/restore")).json()
    assert late["restored"] == []
    assert (await api.get("/v1/erasures")).json()["items"] == []
    # The sweep of an hour, at the start of another replica.
    async with running(GatewayApp(settings())):

        async def is_forgotten() -> bool:
            return await sealed(owner, "erased_accounts") == {}

        await eventually(is_forgotten)


async def test_credentials_that_can_be_given_back_are_sealed_with_the_new_key_too(
    api: httpx.AsyncClient, other: OtherSide, owner: asyncpg.Connection
) -> None:
    await connect(api, other, "own", "acme")
    await erase(api)
    before = await sealed(owner, "erased_accounts")
    (await api.post("/v1/providers/rotate")).raise_for_status()
    after = await sealed(owner, "erased_accounts")
    assert after.keys() == before.keys() == {"own"}
    assert after != before


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/erasures"), ("POST", f"/v1/erasures/{UUID(int=7)}/restore")]
)
async def test_the_key_that_erases_gives_nothing_back(api: httpx.AsyncClient, method: str, path: str) -> None:
    refused = await api.request(method, path, headers={"X-Service-Key": PAIR})
    assert refused.status_code in (401, 403)
