"""Signing in at an identity provider: its answer is accepted only if every part is right, and each code once."""

import hashlib
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg
import httpx
import pytest
from cryptography.fernet import Fernet

from chassis.testing import running, serving
from gateway.app import GatewayApp
from gateway.settings import Settings
from tests.fixtures.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider

KEY = "test-service-key-0123456789"
BACK = "https://console.acme.example/sign-in/callback"


@pytest.fixture
async def provider() -> AsyncIterator[IdentityProvider]:
    made = IdentityProvider(redirect_uris={BACK})
    async with serving(made.app()) as url:
        made.url = url
        yield made


@dataclass
class Clock:
    """The process's clock, which a test winds on."""

    ahead: float = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@dataclass
class Door:
    """The gateway, asked without any key."""

    app: GatewayApp
    http: httpx.AsyncClient
    provider: IdentityProvider
    database_url: str
    clock: "Clock"

    async def begin(self, **more: str) -> dict[str, str]:
        """The console's request for a browser that has come back from the provider."""
        verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(32)
        hashed = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {"redirect_uri": BACK, "state": "state", "nonce": nonce, "code_challenge": hashed}
        code = self.provider.answer_to(asked)["code"]
        return {"code": code, "code_verifier": verifier, "nonce": nonce, "redirect_uri": BACK} | more

    async def sign_in(self, **more: str) -> httpx.Response:
        return await self.http.post("/v1/sign-in", json=await self.begin(**more))


@pytest.fixture
async def door(
    make_database: Callable[[str], Awaitable[str]], provider: IdentityProvider
) -> AsyncIterator[Door]:
    database_url = await make_database("gateway")
    settings = {
        "database_url": database_url,
        "service_key": KEY,
        "http_port": 0,
        "gateway_keys": Fernet.generate_key().decode(),
        # A private address, which the operator has named by this alone.
        "oidc_issuer": provider.url,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
    }
    clock = Clock()
    async with (
        running(GatewayApp(Settings.model_validate(settings), clock=clock)) as app,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{app.port}", trust_env=False, timeout=60) as http,
    ):
        yield Door(app, http, provider, database_url, clock)


async def test_a_code_gives_who_signed_in_and_always_the_same_secret(door: Door) -> None:
    described = (await door.http.get("/v1/sign-in")).json()
    assert described == {
        "issuer": door.provider.url,
        "client_id": CLIENT_ID,
        "authorization_endpoint": f"{door.provider.url}/auth",
    }
    first, second = [await door.sign_in() for _ in range(2)]
    assert first.status_code == 200, first.text
    told = first.json()
    assert (told["issuer"], told["subject"]) == (door.provider.url, "subject-of-bob")
    assert told["name"] == "Bob at the provider"
    assert told["authenticated_at"] is not None
    assert second.json()["secret"] == told["secret"]
    assert len(told["secret"]) == 43
    door.provider.person = "subject-of-eve"
    assert (await door.sign_in()).json()["secret"] != told["secret"]
    # Described once, and keys read once, for all of them.
    assert door.provider.asked.count("/.well-known/openid-configuration") == 1
    assert door.provider.asked.count("/keys") == 1

    connection = await asyncpg.connect(door.database_url)
    try:
        tables = await connection.fetch(
            "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'"
        )
        rows = [await connection.fetch(f'select t::text from "{each[0]}" t') for each in tables]
    finally:
        await connection.close()
    kept = "\n".join(row[0] for each in rows for row in each)
    assert not {each for each in (told["secret"], CLIENT_SECRET, "subject-of") if each in kept}


AN_HOUR_AGO, IN_AN_HOUR = "an hour ago", "in an hour"
"""Stand for times, which are reckoned in the test: all workers must find the same tests."""
SECONDS = {AN_HOUR_AGO: -3600, IN_AN_HOUR: 3600}


@pytest.mark.extended
@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": "another-client"},
        {"aud": [CLIENT_ID, "another-client"]},
        {"azp": "another-client"},
        {"iss": "https://evil.example"},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"exp": AN_HOUR_AGO},
        {"exp": None},
        {"iat": IN_AN_HOUR},
        {"iat": AN_HOUR_AGO},
        {"iat": None},
        {"nbf": IN_AN_HOUR},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 256},
    ],
    ids=str,
)
async def test_a_token_with_a_wrong_claim_signs_nobody_in(door: Door, wrong: dict[str, Any]) -> None:
    now = int(time.time())
    door.provider.claims = {
        name: now + SECONDS[value] if value in (AN_HOUR_AGO, IN_AN_HOUR) else value
        for name, value in wrong.items()
    }
    answer = await door.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (403, "sign_in.refused"), answer.text
    assert "secret" not in answer.json()
    door.provider.claims = {}
    assert (await door.sign_in()).status_code == 200


@pytest.mark.extended
@pytest.mark.parametrize("forge", ["none", "HS256", "other key"])
async def test_a_token_that_is_signed_wrongly_signs_nobody_in(door: Door, forge: str) -> None:
    door.provider.forge = forge
    answer = await door.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (403, "sign_in.refused")


async def test_clocks_may_differ_by_some_seconds(door: Door) -> None:
    now = int(time.time())
    door.provider.claims = {"iat": now + 30, "exp": now - 30}
    assert (await door.sign_in()).status_code == 200


async def test_a_code_signs_in_once_even_if_the_provider_takes_it_twice(door: Door) -> None:
    door.provider.takes_codes_twice = True
    asked = await door.begin()
    answers = [await door.http.post("/v1/sign-in", json=asked) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 403]
    assert len(door.provider.tokens) == 1


async def test_a_code_needs_the_verifier_and_the_address_that_it_was_asked_for_with(door: Door) -> None:
    for more in (
        {"code_verifier": secrets.token_urlsafe(48)},
        {"redirect_uri": "https://evil.example/sign-in/callback"},
        {"code": "code-of-nobody"},
        {"nonce": secrets.token_urlsafe(32)},
    ):
        answer = await door.sign_in(**more)
        assert (answer.status_code, answer.json()["code"]) == (403, "sign_in.refused"), more


@pytest.mark.extended
async def test_keys_may_rotate(door: Door) -> None:
    assert (await door.sign_in()).status_code == 200
    door.clock.ahead += 60
    door.provider.rotate()
    assert (await door.sign_in()).status_code == 200
    # A token that names a key nobody lists makes the keys be read once more, and no more than that.
    door.clock.ahead += 60
    door.provider.headers = {"kid": "key-of-nobody"}
    read = door.provider.asked.count("/keys")
    for _ in range(3):
        assert (await door.sign_in()).status_code == 403
    assert door.provider.asked.count("/keys") == read + 1


async def test_while_the_provider_is_away_it_says_so_and_works_afterwards(door: Door) -> None:
    assert (await door.sign_in()).status_code == 200
    door.provider.away = True
    door.clock.ahead += 3700
    assert (await door.http.get("/v1/sign-in")).status_code == 200
    answer = await door.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (503, "sign_in.provider_away")
    door.provider.away = False
    assert (await door.sign_in()).status_code == 200


@pytest.mark.extended
@pytest.mark.parametrize(
    "described",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://169.254.169.254/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "http://evil.example/auth"},
    ],
    ids=str,
)
async def test_a_description_that_leads_elsewhere_is_not_used(door: Door, described: dict[str, str]) -> None:
    door.provider.described = described
    answer = await door.http.get("/v1/sign-in")
    assert (answer.status_code, answer.json()["code"]) == (424, "sign_in.provider_unusable")


async def test_only_the_address_that_the_operator_named_may_be_private(door: Door) -> None:
    door.provider.described = {"token_endpoint": "https://127.0.0.1:9/token"}
    answer = await door.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (503, "sign_in.provider_away")
    assert "127.0.0.1" in answer.json()["detail"]
    assert "this machine" in answer.json()["detail"]


async def test_nothing_else_is_open_without_a_key(door: Door) -> None:
    for method, path in (("GET", "/v1/accounts"), ("PUT", "/v1/sign-in"), ("GET", "/v1/sign-in/x")):
        answer = await door.http.request(method, path)
        assert answer.status_code == 401, (method, path)


async def test_who_tries_many_codes_waits(door: Door) -> None:
    answers = [(await door.http.get("/v1/sign-in")).status_code for _ in range(121)]
    assert answers.count(429) == 1


async def test_without_a_provider_nobody_signs_in_this_way(api: httpx.AsyncClient) -> None:
    answer = await api.get("/v1/sign-in")
    assert (answer.status_code, answer.json()["code"]) == (404, "sign_in.not_configured")


async def test_the_secret_stays_when_gateway_keys_rotate(door: Door) -> None:
    secret = (await door.sign_in()).json()["secret"]
    connection = await asyncpg.connect(door.database_url)
    try:
        before = await connection.fetchval("select sealed from sign_in_secret")
        rotated = await door.http.post("/v1/providers/rotate", headers={"X-Service-Key": KEY})
        assert rotated.is_success, rotated.text
        assert await connection.fetchval("select sealed from sign_in_secret") != before
    finally:
        await connection.close()
    assert (await door.sign_in()).json()["secret"] == secret
