"""Logging in with a provider: a state that is good once, tokens that are stored before they are used, and renewed by one at a time."""

import asyncio
import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import asyncpg
import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import JSONResponse, Response

from chassis.testing import running
from gateway.accounts.kind import KindContext
from gateway.accounts.kinds import KINDS
from gateway.accounts.login_flow import redirects_allowed
from gateway.accounts.oauth import OAuthCredentials
from gateway.app import GatewayApp
from gateway.settings import Settings
from tests.fixtures.accounts.other_side import OtherSide, ReceivedRequest, client

SECRET = "app-secret-recognisable-1"
HOME = "http://127.0.0.1:8976/callback"


def fields(came: ReceivedRequest) -> dict[str, str]:
    return dict(parse_qsl(came.body.decode()))


def tokens(number: int, **more: Any) -> dict[str, Any]:
    return {
        "access_token": f"access-{number}-recognisable",
        "refresh_token": f"refresh-{number}-recognisable",
        "expires_in": 7200,
        "scope": "tweet.read tweet.write",
        "token_type": "bearer",
    } | more


async def register(api: httpx.AsyncClient, kind: str = "x") -> None:
    app = {"client_id": "our-app", "client_secret": SECRET}
    assert (await api.put(f"/v1/account-apps/{kind}", json=app)).status_code == 204


async def begin(
    api: httpx.AsyncClient, other: OtherSide, kind: str = "x", name: str = "acme-x"
) -> dict[str, Any]:
    body = {"kind": kind, "brands": ["acme"], "settings": {"api_url": other.url}, "redirect_uri": HOME}
    begun = await api.post(f"/v1/accounts/{name}/authorizations", json=body)
    assert begun.status_code == 201, begun.text
    told: dict[str, Any] = begun.json()
    return told


async def complete(
    api: httpx.AsyncClient, state: str, code: str = "a-code", name: str = "acme-x"
) -> httpx.Response:
    return await api.post(f"/v1/accounts/{name}/authorizations/complete", json={"code": code, "state": state})


async def logged_in(api: httpx.AsyncClient, other: OtherSide, **more: Any) -> None:
    await register(api)
    other.answer("POST /2/oauth2/token", tokens(1, **more))
    other.answer("GET /2/users/me", {"data": {"id": "7", "username": "acme"}})
    assert (await complete(api, (await begin(api, other))["state"])).status_code == 200


async def look_up(api: httpx.AsyncClient) -> httpx.Response:
    ask = {"brand": "acme", "method": "GET", "path": "/2/tweets/1", "seconds": 60}
    return await api.post("/v1/accounts/acme-x/requests", json=ask)


async def test_an_account_is_connected_by_logging_in(
    api: httpx.AsyncClient, other: OtherSide, database_url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    await register(api)
    assert (await api.get("/v1/account-apps/x")).json()["has_secret"] is True
    begun = await begin(api, other)
    address = urlsplit(begun["authorize_url"])
    asked = {name: values[0] for name, values in parse_qs(address.query).items()}
    assert f"{address.scheme}://{address.netloc}{address.path}" == "https://x.com/i/oauth2/authorize"
    assert (asked["client_id"], asked["redirect_uri"], asked["state"]) == ("our-app", HOME, begun["state"])
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert {"tweet.write", "offline.access"} <= set(asked["scope"].split())

    other.answer("POST /2/oauth2/token", tokens(1))
    other.answer("GET /2/users/me", {"data": {"id": "7", "username": "acme"}})
    done = await complete(api, begun["state"])
    assert done.status_code == 200, done.text
    told = done.json()
    assert (told["state"], told["label"], told["facts"]["id"]) == ("ok", "@acme", "7")
    assert (told["scopes"], told["expires_at"]) == (["tweet.read", "tweet.write"], None)
    sent = fields(other.came[0])
    assert (sent["grant_type"], sent["code"], sent["redirect_uri"]) == ("authorization_code", "a-code", HOME)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=")
    assert challenge.decode() == asked["code_challenge"]
    assert other.came[0].headers["authorization"].startswith("Basic ")
    assert other.came[1].headers["authorization"] == "Bearer access-1-recognisable"

    again = await complete(api, begun["state"])
    assert (again.status_code, again.json()["type"]) == (424, "account.state_unknown")
    connection = await asyncpg.connect(database_url)
    try:
        rows = [
            str(dict(row))
            for table in ("accounts", "account_apps", "account_authorizations", "audit_log")
            for row in await connection.fetch(f"select * from {table}")
        ]
    finally:
        await connection.close()
    assert any("authorizations/complete" in row for row in rows)
    everything = "".join([*rows, done.text, *capfd.readouterr()])
    assert not [
        each for each in ("recognisable", sent["code_verifier"], begun["state"]) if each in everything
    ]


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        (HOME, True),
        ("http://localhost:8976/callback", True),
        ("http://[::1]:8976/callback?a=b", True),
        ("https://brand.example/callback", True),
        ("HTTPS://brand.example:8443/callback", True),
        ("http://127.0.0.1:1@evil.example/cb", False),
        ("http://127.0.0.1:1%40evil.example/cb", False),
        ("http://localhost:1@evil.example/cb", False),
        ("http://[::1]:@evil.example/cb", False),
        ("https://brand.example@evil.example/cb", False),
        ("http://127.0.0.1:8976\\@evil.example/cb", False),
        ("http://127.0.0.1.evil.example:80/cb", False),
        ("http://①②⑦.0.0.1:80/cb", False),
        ("http://127.0.0.1/cb", False),
        ("http://127.0.0.1:99999/cb", False),
        ("http://127.0.0.1:0/cb", False),
        ("http://evil.example/cb", False),
        ("https://", False),
        ("https:///cb", False),
        ("https://brand.example/cb#fragment", False),
        ("https://brand.example/c b", False),
        ("javascript:alert(1)", False),
    ],
)
def test_a_code_goes_to_this_machine_or_encrypted_to_a_host(address: str, is_allowed: bool) -> None:
    assert redirects_allowed(address) is is_allowed


async def test_a_login_that_is_none_connects_nothing(
    api: httpx.AsyncClient, other: OtherSide, database_url: str
) -> None:
    body = {"kind": "x", "brands": ["acme"], "settings": {"api_url": other.url}, "redirect_uri": HOME}
    unknown = await api.post("/v1/accounts/acme-x/authorizations", json=body)
    assert (unknown.status_code, unknown.json()["type"]) == (424, "account.no_app")
    await register(api)
    elsewhere = await api.post(
        "/v1/accounts/acme-x/authorizations", json=body | {"redirect_uri": "http://elsewhere.example/"}
    )
    assert elsewhere.status_code == 422
    sneaking = "http://127.0.0.1:1@evil.example/cb"
    elsewhere = await api.post("/v1/accounts/acme-x/authorizations", json=body | {"redirect_uri": sneaking})
    assert (elsewhere.status_code, sneaking in elsewhere.json()["detail"]) == (422, True)

    refused = JSONResponse({"error": "invalid_grant", "error_description": "recognisable"}, 400)
    other.answer("POST /2/oauth2/token", refused)
    wrong = await complete(api, (await begin(api, other))["state"])
    assert (wrong.json()["type"], "recognisable" in wrong.text) == ("account.login_refused", False)
    # Of another account, or too late.
    assert (await complete(api, (await begin(api, other))["state"], name="other")).json()["type"] == (
        "account.state_unknown"
    )
    late = await begin(api, other)
    connection = await asyncpg.connect(database_url)
    await connection.execute("update account_authorizations set expires_at = clock_timestamp()")
    await connection.close()
    assert (await complete(api, late["state"])).json()["type"] == "account.state_unknown"
    assert (await api.get("/v1/accounts")).json()["items"] == []


@pytest.mark.extended
async def test_a_refreshed_token_is_stored_before_it_is_used_and_got_once_by_all_replicas(
    settings: Callable[[], Settings], other: OtherSide
) -> None:
    known = {"refresh-1-recognisable"}
    made = 1

    async def token(came: ReceivedRequest) -> Response:
        """Each refresh token is good once, and a new one takes its place."""
        nonlocal made
        given = fields(came)["refresh_token"]
        if given not in known:
            return JSONResponse({"error": "invalid_request"}, 400)
        known.discard(given)
        made += 1
        await asyncio.sleep(0.05)
        known.add(f"refresh-{made}-recognisable")
        return JSONResponse(tokens(made))

    async with (
        running(GatewayApp(settings())) as one,
        running(GatewayApp(settings())) as two,
        client(one) as api,
        client(two) as another,
    ):
        await logged_in(api, other, expires_in=60)  # stale at once
        other.answers["POST /2/oauth2/token"] = token
        other.answer("GET /2/tweets/1", {"data": {}})
        before = made
        answers = await asyncio.gather(*(look_up(each) for each in (api, another) * 3))
        assert {answer.json()["status"] for answer in answers} == {200}
        assert made == before + 1
        assert {came.headers["authorization"] for came in other.came if came.path == "/2/tweets/1"} == {
            f"Bearer access-{made}-recognisable"
        }
        # The provider has taken the token back early: a new one is got, and the same asked again.
        other.answer("GET /2/tweets/1", JSONResponse({"title": "Unauthorized"}, 401), {"data": {}})
        assert (await look_up(another)).json()["status"] == 200
        assert made == before + 2


async def test_a_refresh_that_fails_keeps_the_old_token_and_one_that_is_refused_says_what_to_do(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    await logged_in(api, other, expires_in=60)
    other.answer("GET /2/tweets/1", {"data": {}})
    other.answer(
        "POST /2/oauth2/token",
        JSONResponse({}, 503),
        tokens(2),
        JSONResponse({"error": "invalid_request"}, 400),
    )
    away = await look_up(api)
    assert (away.status_code, away.json()["type"]) == (503, "call.not_sent")
    assert (await look_up(api)).json()["status"] == 200
    assert fields(other.came[-2])["refresh_token"] == "refresh-1-recognisable"
    other.answer("GET /2/tweets/1", JSONResponse({"title": "Unauthorized"}, 401))
    lost = await look_up(api)
    assert lost.json()["type"] == "account.needs_reconnecting"
    assert "may have been lost in a crash" in lost.json()["detail"]
    assert fields(other.came[-1])["refresh_token"] == "refresh-2-recognisable"
    # Logging in again brings it back.
    await logged_in(api, other)
    assert (await api.get("/v1/accounts/acme-x")).json()["state"] == "ok"


async def test_a_renewal_is_carried_to_its_end_though_whoever_asked_has_gone(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(_: ReceivedRequest) -> Response:
        arrived.set()
        await go_on.wait()
        return JSONResponse(tokens(2))

    await logged_in(api, other, expires_in=60)
    other.answer("GET /2/tweets/1", {"data": {}})
    other.answers["POST /2/oauth2/token"] = slowly
    asking = asyncio.create_task(look_up(api))
    await arrived.wait()
    asking.cancel()
    go_on.set()
    # Whoever comes next finds the new pair.
    assert (await look_up(api)).json()["status"] == 200
    assert other.came[-1].headers["authorization"] == "Bearer access-2-recognisable"


@pytest.mark.extended
async def test_tokens_of_meta_last_and_are_renewed_a_month_before_their_end(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    await register(api, "threads")
    other.answer("POST /oauth/access_token", {"access_token": "short-recognisable", "user_id": 7})
    other.answer("GET /access_token", {"access_token": "long-recognisable", "expires_in": 60 * 86_400})
    other.answer("GET /v1.0/me", {"id": "7", "username": "acme"})
    begun = await begin(api, other, "threads", "acme-threads")
    assert (
        "threads_basic,threads_content_publish" in parse_qs(urlsplit(begun["authorize_url"]).query)["scope"]
    )
    done = await complete(api, begun["state"], "a-code#_", "acme-threads")
    assert done.status_code == 200, done.text
    assert fields(other.came[0])["code"] == "a-code"
    assert other.came[1].query == {
        "grant_type": "th_exchange_token",
        "client_secret": SECRET,
        "access_token": "short-recognisable",
    }
    ends = datetime.fromisoformat(done.json()["expires_at"])
    assert timedelta(days=59) < ends - datetime.now(UTC) < timedelta(days=61)
    now = datetime.now(UTC)
    kind = KINDS["threads"]

    def stale(left: timedelta, age: timedelta) -> bool:
        token = OAuthCredentials(access=SecretStr("a"), expires_at=now + left, got_at=now - age)
        return kind.is_stale(KindContext(kind.settings(), token, now))

    days = timedelta(days=1)
    assert [stale(40 * days, 20 * days), stale(29 * days, 31 * days), stale(29 * days, days / 2)] == [
        False,
        True,
        False,
    ]
    assert not stale(-days, 61 * days)
