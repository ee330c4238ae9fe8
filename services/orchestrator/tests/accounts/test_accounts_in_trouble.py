"""Accounts with ending access, on a real database and over real HTTP: seen every hour, and reported by the audit."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chassis.http import server
from messaging import Database
from orchestrator.accounts import AccountHealthPoller
from tests.fixtures.gateways import gateway_before
from tests.fixtures.sites import Names

KEY = SecretStr("test-service-key-0123456789")
ENDS = datetime(2027, 1, 2, tzinfo=UTC)


def account(
    name: str, state: str = "ok", *, brands: tuple[str, ...] = ("acme",), **more: Any
) -> dict[str, Any]:
    """One in the gateway's shape."""
    return {
        "name": name,
        "kind": "x",
        "brands": list(brands),
        "label": f"@{name}",
        "state": state,
        "detail": None,
        "facts": {"id": "7"},
        "scopes": ["tweet.write"],
        "expires_at": None,
        "checked_at": None,
        "connected_at": datetime.now(UTC).isoformat(),
        "settings": {},
    } | more


@dataclass
class Gateway:
    """The stand-in for the gateway's list of accounts."""

    items: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    asked: int = 0
    url: str = ""

    async def accounts(self, request: Request) -> Response:
        assert request.headers["X-Service-Key"] == KEY.get_secret_value()
        self.asked += 1
        return JSONResponse({"items": self.items} if self.status == 200 else {}, self.status)


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    stand_in = Gateway()
    serving = server.server(Starlette(routes=[Route("/v1/accounts", stand_in.accounts)]), "127.0.0.1", 0)
    task = asyncio.create_task(serving.serve())
    async with asyncio.timeout(60):
        while not serving.started:  # noqa: ASYNC110  (the server has no event for it)
            await asyncio.sleep(0.01)
    stand_in.url = f"http://127.0.0.1:{serving.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield stand_in
    finally:
        serving.should_exit = True
        await task


@pytest.fixture
async def acme(orchestrator_database: Database, api: httpx.AsyncClient) -> Database:
    for slug in ("acme", "rival"):
        (await api.put(f"/v1/brands/{slug}", json={"name": slug})).raise_for_status()
    return orchestrator_database


@pytest.fixture
async def watching(acme: Database, gateway: Gateway) -> AsyncIterator[AccountHealthPoller]:
    async with aclosing(AccountHealthPoller(acme, gateway.url, KEY)) as watching:
        yield watching


async def an_hour_later(database: Database, **also: timedelta) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "update account_looks set next_at = now(), looked_at = looked_at - $1::interval",
            also.get("seen_before", timedelta()),
        )


async def audited(api: httpx.AsyncClient, database: Database, brand: str = "acme") -> dict[str, Any]:
    """A new audit: one of the last minute would stand for it."""
    async with database.connection() as connection:
        await connection.execute("update audits set made_at = made_at - interval '1 hour'")
    answer = await api.post(f"/v1/brands/{brand}/audits")
    assert answer.status_code == 201, answer.text
    audit: dict[str, Any] = answer.json()
    return audit


def told(audit: dict[str, Any]) -> list[str]:
    return [each["subject"] for each in audit["findings"] if each["kind"] == "account_expiring"]


async def test_accounts_of_the_brand_that_end_are_told_until_they_are_connected_again(
    acme: Database, api: httpx.AsyncClient, gateway: Gateway, watching: AccountHealthPoller
) -> None:
    gateway.items = [
        account("acme-x", "expiring", expires_at=ENDS.isoformat()),
        account("for-all", "needs_reconnecting", brands=("*",), detail="the token was taken back"),
        account("fine", expires_at=ENDS.isoformat()),
        account("rivals", "expiring", brands=("rival", "nobody")),
    ]

    assert await watching.look()
    audit = await audited(api, acme)

    assert told(audit) == ["for-all", "acme-x"]
    assert audit["counts"]["account_expiring"] == 2
    over, ends = audit["findings"]
    assert over["advice"] == (
        "its access can't be used any more: brandctl accounts connect x --name for-all (the token was taken back)"
    )
    assert ends["advice"] == (
        "its access ends on 2027-01-02, and nothing goes out by it then: brandctl accounts connect x --name acme-x"
    )
    assert (await api.get(f"/v1/brands/acme/audits/{audit['audit_id']}")).json() == audit
    (listed,) = (await api.get("/v1/brands/acme/audits")).json()["items"]
    assert listed["counts"] == audit["counts"]
    assert told(await audited(api, acme, "rival")) == ["for-all", "rivals"]

    gateway.items = [account("acme-x"), account("for-all", "needs_reconnecting", brands=("*",))]
    await an_hour_later(acme)
    assert await watching.look()
    later = await audited(api, acme)
    assert told(later) == ["for-all"]
    assert later["findings"][0]["since"] == over["since"]


async def test_of_two_replicas_one_asks_each_hour(
    acme: Database, gateway: Gateway, watching: AccountHealthPoller
) -> None:
    async with aclosing(AccountHealthPoller(acme, gateway.url, KEY)) as other:
        asked = await asyncio.gather(watching.look(), other.look(), watching.look())

    assert sorted(asked) == [False, False, True]
    assert gateway.asked == 1


async def test_a_gateway_that_is_away_leaves_what_is_known_and_is_told_after_a_day(
    acme: Database, api: httpx.AsyncClient, gateway: Gateway, watching: AccountHealthPoller
) -> None:
    gateway.items = [account("acme-x", "expiring")]
    assert await watching.look()
    gateway.status = 503
    await an_hour_later(acme)

    assert not await watching.look()

    audit = await audited(api, acme)
    assert (told(audit), audit["notes"]) == (["acme-x"], [])
    await an_hour_later(acme, seen_before=timedelta(days=1))
    assert not await watching.look()
    (note,) = (await audited(api, acme))["notes"]
    assert note.startswith("whether accounts end soon could not be asked for a day: the gateway ")


async def test_the_version_before_reads_audits_that_tell_of_accounts(
    acme: Database, api: httpx.AsyncClient, gateway: Gateway, watching: AccountHealthPoller
) -> None:
    """That version refuses unknown kinds and columns: so neither is in the audit's own row."""
    gateway.items = [account("acme-x", "expiring")]
    assert await watching.look()
    await audited(api, acme)

    async with acme.connection() as connection:
        row = await connection.fetchrow("select * from audits")

    assert row is not None
    assert "account_expiring" not in str(dict(row))
    assert set(dict(row)) == {"audit_id", "brand_slug", "made_by", "made_at", "findings", "counts", "cut"}


@pytest.mark.extended
async def test_the_real_gateway_is_asked(
    acme: Database, api: httpx.AsyncClient, make_database: Callable[[str], Awaitable[str]]
) -> None:
    gateway_url = await make_database("gateway")
    async with gateway_before(Names(), gateway_url) as gateway:
        for name, brand in (("acme-dev", "acme"), ("theirs", "rival")):
            body = {
                "kind": "devto",
                "brands": [brand],
                "settings": {},
                "credentials": {"key": "a-key-of-dev-to-0123456789"},
            }
            connected = await gateway.put(f"/v1/accounts/{name}", json=body)
            assert connected.is_success, connected.text
        connection = await asyncpg.connect(gateway_url)
        await connection.execute("update accounts set expires_at = now() + interval '3 days'")
        await connection.close()
        async with aclosing(AccountHealthPoller(acme, str(gateway.base_url), KEY)) as watching:
            assert await watching.look()

    assert told(await audited(api, acme)) == ["acme-dev"]
