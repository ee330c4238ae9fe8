"""Accounts of a brand that moves: they work at the other installation, and nobody but the two gateways has seen their credentials."""

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pydantic import SecretStr

from chassis.testing import running
from gateway.accounts.handover_seal import HandoverSeal, WrongSealError
from gateway.app import GatewayApp
from gateway.settings import Settings
from tests.fixtures.accounts.other_side import KEY, OtherSide, client
from tests.fixtures.databases import Roles

PAIR = "orchestrator-to-gateway-key-for-tests"
MOVES = "a-key-that-both-installations-know-0123456789"
TOKEN = "mastodon-token-of-acme-0123456789"


def own_settings(database_url: str, moves_key: str | None) -> Settings:
    given = {
        "database_url": database_url,
        "service_key": KEY,
        "http_port": 0,
        "gateway_keys": Fernet.generate_key().decode(),
        "egress_reachable_networks": "127.0.0.1/32",
        "moves_key": moves_key,
        "orchestrator_to_gateway_key": SecretStr(PAIR),
    }
    return Settings.model_validate(given)


@pytest.fixture
async def second_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("gateway")


@pytest.fixture
async def former(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with running(GatewayApp(own_settings(database_url, MOVES))) as app, client(app) as made:
        yield made


@pytest.fixture
async def second(second_url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with running(GatewayApp(own_settings(second_url, MOVES))) as app, client(app) as made:
        yield made


@pytest.fixture
async def owner(database_url: str, database_roles: Roles) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_roles.owner(database_url))
    yield connection
    await connection.close()


async def connect(api: httpx.AsyncClient, other: OtherSide, name: str, *brands: str) -> str:
    """Connects a webhook; returns its secret."""
    body = {"kind": "webhook", "brands": list(brands), "settings": {"url": f"{other.url}/hook"}}
    answer = (await api.put(f"/v1/accounts/{name}", json=body)).raise_for_status().json()
    return str(answer["secret"])


async def names(api: httpx.AsyncClient) -> dict[str, list[str]]:
    items = (await api.get("/v1/accounts")).raise_for_status().json()["items"]
    return {each["name"]: each["brands"] for each in items}


async def expect(api: httpx.AsyncClient, move: UUID, brand: str = "acme") -> Any:
    return (await api.put(f"/v1/account-moves/{move}", json={"brand": brand})).raise_for_status().json()


async def post(api: httpx.AsyncClient, move: UUID, what: str, **body: Any) -> httpx.Response:
    return await api.post(f"/v1/account-moves/{move}/{what}", json={"brand": "acme", **body})


async def test_accounts_work_at_the_other_installation_and_not_here(
    former: httpx.AsyncClient, second: httpx.AsyncClient, other: OtherSide, owner: asyncpg.Connection
) -> None:
    secret = await connect(former, other, "hook", "acme")
    body = {
        "kind": "mastodon",
        "brands": ["acme"],
        "settings": {"url": other.url},
        "credentials": {"token": TOKEN},
    }
    (await former.put("/v1/accounts/mastodon-eu", json=body)).raise_for_status()
    await connect(former, other, "shared", "acme", "rival")
    await connect(former, other, "all", "*")
    await connect(former, other, "rivals", "rival")
    move = uuid4()
    expected = await expect(second, move)
    assert (expected["has_ended"], expected["arrived"]) == (False, [])
    assert await expect(second, move) == expected

    handed = (await post(former, move, "handover", public_key=expected["public_key"])).raise_for_status()
    assert handed.json()["accounts"] == ["hook", "mastodon-eu"]
    sealed = base64.b64decode(handed.json()["sealed"])
    for text in (secret, TOKEN, "hook", "mastodon"):
        assert text.encode() not in sealed
        assert text not in handed.json()["sealed"]
    assert await names(former) == {"all": ["*"], "rivals": ["rival"], "shared": ["rival"]}
    # The answer was lost: the same again, encrypted anew.
    again = (await post(former, move, "handover", public_key=expected["public_key"])).json()
    assert (again["accounts"], again["sealed"] == handed.json()["sealed"]) == (["hook", "mastodon-eu"], False)

    taken = (await post(second, move, "accounts", sealed=again["sealed"])).raise_for_status().json()
    assert taken == {"accounts": ["hook", "mastodon-eu"], "name_taken": []}
    assert await names(second) == {"hook": ["acme"], "mastodon-eu": ["acme"]}
    ended = await expect(second, move)
    assert (ended["has_ended"], ended["arrived"]) == (True, ["hook", "mastodon-eu"])
    for blob in (handed.json()["sealed"], again["sealed"]):
        assert (await post(second, move, "accounts", sealed=blob)).json() == taken
    # It is known there by the same token, and here no more.
    other.came.clear()
    (await second.post("/v1/accounts/mastodon-eu/check")).raise_for_status()
    assert [each.headers["authorization"] for each in other.came] == [f"Bearer {TOKEN}"]
    assert (await former.post("/v1/accounts/mastodon-eu/check")).status_code == 404
    # Given back, for a week, where it came from.
    restored = (await former.post(f"/v1/erasures/{move}/restore")).json()
    assert restored["restored"] == ["hook", "mastodon-eu", "shared"]
    late = await post(former, move, "handover", public_key=expected["public_key"])
    assert (late.status_code, late.json()["code"]) == (409, "moves.forgotten")
    assert secret not in json.dumps(
        [dict(row) for row in await owner.fetch("select * from audit_log")], default=str
    )


async def test_a_name_that_is_taken_takes_nothing_over_until_it_is_free(
    former: httpx.AsyncClient, second: httpx.AsyncClient, other: OtherSide
) -> None:
    await connect(former, other, "hook", "acme")
    await connect(former, other, "more", "acme")
    await connect(second, other, "hook", "rival")
    move = uuid4()
    key = (await expect(second, move))["public_key"]
    sealed = (await post(former, move, "handover", public_key=key)).json()["sealed"]
    refused = (await post(second, move, "accounts", sealed=sealed)).json()
    assert refused == {"accounts": [], "name_taken": ["hook"]}
    assert await names(second) == {"hook": ["rival"]}
    (await second.delete("/v1/accounts/hook")).raise_for_status()
    assert (await post(second, move, "accounts", sealed=sealed)).json()["accounts"] == ["hook", "more"]
    assert await names(second) == {"hook": ["acme"], "more": ["acme"]}


async def test_without_the_key_of_both_installations_nothing_is_read(
    former: httpx.AsyncClient, second: httpx.AsyncClient, second_url: str, other: OtherSide
) -> None:
    """Also by a caller with all scopes and a public key of their own."""
    secret = await connect(former, other, "hook", "acme")
    move = uuid4()
    private = X25519PrivateKey.generate()
    own = base64.b64encode(private.public_key().public_bytes_raw()).decode()
    stolen = base64.b64decode((await post(former, move, "handover", public_key=own)).json()["sealed"])
    for guess in ("", KEY, "x" * 40):
        with pytest.raises(WrongSealError):
            HandoverSeal(guess, move, "acme").open(private.private_bytes_raw(), stolen)
    assert secret.encode() not in stolen
    assert secret.encode() in HandoverSeal(MOVES, move, "acme").open(private.private_bytes_raw(), stolen)
    # For another key, another brand or move, or changed on its way.
    key = (await expect(second, move))["public_key"]
    good = base64.b64decode((await post(former, move, "handover", public_key=key)).json()["sealed"])
    for blob in (stolen, good[:-1], good[:40] + bytes([good[40] ^ 1]) + good[41:], bytes(60)):
        refused = await post(second, move, "accounts", sealed=base64.b64encode(blob).decode())
        assert (refused.status_code, refused.json()["code"]) == (422, "moves.sealed")
    elsewhere = uuid4()
    await expect(second, elsewhere)
    replayed = await post(second, elsewhere, "accounts", sealed=base64.b64encode(good).decode())
    assert replayed.json()["code"] == "moves.sealed"
    rival = await second.put(f"/v1/account-moves/{move}", json={"brand": "rival"})
    assert (rival.status_code, rival.json()["code"]) == (409, "moves.other_brand")
    unknown = await post(second, uuid4(), "accounts", sealed=base64.b64encode(good).decode())
    assert (unknown.status_code, unknown.json()["code"]) == (404, "moves.unknown")
    zeros = await post(former, move, "handover", public_key=base64.b64encode(bytes(32)).decode())
    assert zeros.json()["code"] == "moves.sealed"
    async with running(GatewayApp(own_settings(second_url, None))) as app, client(app) as without:
        refused = await without.put(f"/v1/account-moves/{uuid4()}", json={"brand": "acme"})
        assert (refused.status_code, refused.json()["code"]) == (424, "moves.no_key")


async def test_a_token_that_is_being_renewed_is_waited_for(
    former: httpx.AsyncClient, second: httpx.AsyncClient, other: OtherSide, owner: asyncpg.Connection
) -> None:
    await connect(former, other, "hook", "acme")
    await owner.execute("update accounts set renewing_until = now() + interval '1 minute'")
    move = uuid4()
    key = (await expect(second, move))["public_key"]
    refused = await post(former, move, "handover", public_key=key)
    assert (refused.status_code, refused.json()["code"]) == (409, "moves.renewing")
    assert await names(former) == {"hook": ["acme"]}
    (await second.post("/v1/providers/rotate")).raise_for_status()
    await owner.execute("update accounts set renewing_until = null")
    sealed = (await post(former, move, "handover", public_key=key)).json()["sealed"]
    assert (await post(second, move, "accounts", sealed=sealed)).json()["accounts"] == ["hook"]


async def test_only_administrators_hand_accounts_over(former: httpx.AsyncClient) -> None:
    for headers, status in (({"X-Service-Key": PAIR}, (401, 403)), ({"X-Service-Key": "wrong"}, (401,))):
        for method, what in (("PUT", ""), ("POST", "/handover"), ("POST", "/accounts")):
            # The scope comes before the body, which is none.
            refused = await former.request(method, f"/v1/account-moves/{uuid4()}{what}", headers=headers)
            assert refused.status_code in status, (method, what, refused.text)
