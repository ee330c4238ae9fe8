"""API keys of people at the gateway: they manage what it uses, and use nothing of it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.http.service_key import PairAccess, PairKeys
from chassis.testing import running, serving
from gateway.app import GatewayApp
from gateway.operator_keys import OPENED_BY_API_KEYS
from gateway.settings import Settings
from orchestrator.api import RequestAuthenticator, http_api
from orchestrator.app import ASKED_WHOSE_A_KEY_IS
from tests.architecture.test_every_route_names_its_scope import routes_of
from tests.end_to_end.keys.test_api_keys_at_other_services import database

KEY = "test-service-key-0123456789"
PAIR = SecretStr("of-gateway-and-orchestrator-7Kq")
ALL = ("read", "submit", "review", "operate", "repair", "admin")


class Keys:
    """A gateway, and an orchestrator that knows each key's owner."""

    def __init__(self, app: Any, orchestrator: httpx.AsyncClient, gateway: httpx.AsyncClient) -> None:
        self.app = app
        self._orchestrator = orchestrator
        self._gateway = gateway

    async def key(self, *scopes: str, **bound: Any) -> dict[str, str]:
        asked = {"name": "ada", "scopes": scopes, **bound}
        made = await self._orchestrator.post("/v1/keys", json=asked, headers={"X-Service-Key": KEY})
        return {"Authorization": f"Bearer {made.raise_for_status().json()['key']}"}

    async def ask(self, key: dict[str, str], method: str, path: str, **form: Any) -> httpx.Response:
        return await self._gateway.request(method, path, headers=key, **form)


@pytest.fixture
async def keys(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Keys]:
    async with AsyncExitStack() as stack:
        connections = Connections(await make_database("orchestrator"), name="orchestrator test", size=4)
        await connections.open()
        kept = database(stack, connections, "orchestrator")
        asked = PairAccess("gateway", PAIR, frozenset({ASKED_WHOSE_A_KEY_IS}))
        callers = PairKeys(RequestAuthenticator(kept, ServiceKey(SecretStr(KEY))), [asked])
        origin = await stack.enter_async_context(serving(http_api(kept, callers)))
        settings = {
            "database_url": await make_database("gateway"),
            "service_key": KEY,
            "http_port": 0,
            "gateway_keys": Fernet.generate_key().decode(),
            "orchestrator_url": origin,
            "gateway_to_orchestrator_key": PAIR,
        }
        app = await stack.enter_async_context(running(GatewayApp(Settings.model_validate(settings))))
        orchestrator, gateway = [
            await stack.enter_async_context(httpx.AsyncClient(base_url=each, trust_env=False, timeout=60))
            for each in (origin, f"http://127.0.0.1:{app.port}")
        ]
        brand = await orchestrator.put(
            "/v1/brands/acme", json={"name": "Acme"}, headers={"X-Service-Key": KEY}
        )
        brand.raise_for_status()
        yield Keys(app, orchestrator, gateway)


@pytest.mark.extended
async def test_an_operator_connects_an_account_and_the_audit_log_names_them(keys: Keys) -> None:
    key = await keys.key(*ALL)
    form = {"kind": "webhook", "brands": ["acme"], "settings": {"url": "https://hooks.example/a"}}
    connected = await keys.ask(key, "PUT", "/v1/accounts/hook", json=form)
    assert connected.status_code == 200, connected.text
    listed = (await keys.ask(key, "GET", "/v1/accounts")).json()["items"]
    assert [each["name"] for each in listed] == ["hook"]
    entries = (await keys.ask(key, "GET", "/v1/audit-log")).json()["items"]
    assert entries[0]["caller"] == "ada"


async def test_each_route_still_needs_its_scope(keys: Keys) -> None:
    reader = await keys.key("read")
    assert (await keys.ask(reader, "GET", "/v1/accounts")).status_code == 200
    assert (await keys.ask(reader, "GET", "/v1/accounts/hook")).status_code == 403
    assert (await keys.ask(reader, "DELETE", "/v1/accounts/hook")).status_code == 403


@pytest.mark.extended
async def test_a_key_of_some_brands_opens_nothing(keys: Keys) -> None:
    bound = await keys.key(*ALL[:5], brands=["acme"], per_minute=6_000)
    for each in sorted(OPENED_BY_API_KEYS):
        refused = await keys.ask(bound, *each.split(" ", 1))
        assert (refused.status_code, "shared by all brands" in refused.text) == (403, True), each


@pytest.mark.extended
async def test_no_key_uses_an_account_a_model_or_the_way_out(keys: Keys) -> None:
    key = await keys.key(*ALL)
    api = keys.app._app
    others = {f"{method.upper()} {path}" for method, path in routes_of(api)} - OPENED_BY_API_KEYS
    assert {"POST /v1/accounts/{name}/requests", "POST /v1/chat/completions", "GET /v1/pages"} <= others
    for each in sorted(others):
        refused = await keys.ask(key, *each.split(" ", 1))
        assert (refused.status_code, "only services may do this" in refused.text) == (403, True), each


@pytest.mark.extended
async def test_every_route_that_keys_open_exists(keys: Keys) -> None:
    assert {f"{method.upper()} {path}" for method, path in routes_of(keys.app._app)} >= OPENED_BY_API_KEYS
