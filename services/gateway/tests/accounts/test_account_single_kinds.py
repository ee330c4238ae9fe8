"""What one kind alone has: prices on X, sessions of Bluesky, tokens of Ghost."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import JSONResponse

from gateway.accounts.kind import KindContext, RemoteRequest
from gateway.accounts.kinds import KINDS
from gateway.accounts.kinds.x import XSettings
from gateway.accounts.oauth import OAuthCredentials
from gateway.accounts.registry import validated
from tests.fixtures.accounts.other_side import OtherSide

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
GHOST_KEY = "64f0c0ffee64f0c0ffee64f0:" + b"recognisable".hex() * 3


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("Grind it coarsely. Slowly.", 15_000),
        ("Read https://acme.example/a", 200_000),
        ("Read acme.example", 200_000),
        ("It takes 3.5 minutes.", 15_000),
        ("see über.de", 200_000),
    ],
)
def test_what_a_post_on_x_costs(text: str, micros: int) -> None:
    context = KindContext(XSettings(), OAuthCredentials(access=SecretStr("a")), NOW)
    kind = KINDS["x"]
    assert kind.cost(context, RemoteRequest("POST", "/2/tweets", document={"text": text})) == micros
    assert kind.cost(context, RemoteRequest("GET", "/2/users/1/tweets")) == 0


@pytest.mark.extended
async def test_posts_on_x_are_in_the_ledger_and_caps_hold(api: httpx.AsyncClient, other: OtherSide) -> None:
    body = {
        "kind": "x",
        "brands": ["acme"],
        "settings": {"api_url": other.url},
        "credentials": {"access": "token-0123"},
    }
    assert (await api.put("/v1/accounts/acme-x", json=body)).status_code == 200

    async def post(text: str, **more: Any) -> httpx.Response:
        asked = {"brand": "acme", "method": "POST", "path": "/2/tweets", "json": {"text": text}} | more
        return await api.post("/v1/accounts/acme-x/requests", json=asked)

    async def spent() -> list[tuple[str, str, int]]:
        items = (await api.get("/v1/spend/calls", params={"brand": "acme"})).json()["items"]
        return [(each["state"], each["subject"], each["spent"]) for each in reversed(items)]

    other.answer(
        "POST /2/tweets",
        JSONResponse({"data": {"id": "1"}}, 201),
        JSONResponse({"title": "Forbidden", "detail": "duplicate content"}, 403),
        JSONResponse({"title": "Service Unavailable"}, 503),
        JSONResponse({"data": {"id": "2"}}, 201),
    )
    # The same text twice is asked twice: what may be repeated is for receipts to say.
    told = [(await post("Read https://acme.example/a")).json()["status"] for _ in range(3)]
    assert told == [201, 403, 503]
    assert (await post("No link")).json()["json"] == {"data": {"id": "2"}}
    subject = "POST /2/tweets"
    assert await spent() == [
        ("settled", subject, 200_000),
        ("settled", subject, 0),
        ("settled", subject, 200_000),
        ("settled", subject, 15_000),
    ]
    await api.put("/v1/spend/caps/acme", json={"day": "0.5"})
    refused = await post("Read https://acme.example/a")
    assert (refused.status_code, refused.json()["type"]) == (402, "budget.exhausted")
    assert len(other.asked) == 4
    assert (await post("No link")).status_code == 200
    assert (
        await api.put("/v1/accounts/acme-x", json=body | {"settings": {"api_url": "http://127.0.0.1:9"}})
    ).is_success
    assert (await post("No link")).json()["type"] == "call.not_sent"
    assert (await spent())[-1][::2] == ("released", 0)


async def test_a_session_of_bluesky_is_made_once_kept_and_renewed(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    session = {
        "accessJwt": "access-1-recognisable",
        "refreshJwt": "refresh-1-recognisable",
        "did": "did:plc:a",
    }
    other.answer("POST /xrpc/com.atproto.server.createSession", session)
    other.answer("GET /xrpc/com.atproto.server.getSession", {"did": "did:plc:a", "handle": "acme.example"})
    other.answer(
        "POST /xrpc/com.atproto.repo.putRecord", {"uri": "at://did:plc:a/app.bsky.feed.post/1", "cid": "b"}
    )
    body = {
        "kind": "bluesky",
        "brands": ["acme"],
        "settings": {"url": other.url},
        "credentials": {"identifier": "acme.example", "password": "app-password-0123"},
    }
    assert (await api.put("/v1/accounts/sky", json=body)).status_code == 200
    checked = (await api.post("/v1/accounts/sky/check")).json()
    assert (checked["state"], checked["label"], checked["facts"]["did"]) == (
        "ok",
        "@acme.example",
        "did:plc:a",
    )
    record = {"repo": "did:plc:a", "collection": "app.bsky.feed.post", "rkey": "3k", "record": {}}
    ask = {"brand": "acme", "method": "POST", "path": "/xrpc/com.atproto.repo.putRecord", "json": record}

    async def post() -> httpx.Response:
        return await api.post("/v1/accounts/sky/requests", json=ask)

    def made(what: str) -> int:
        return sum(came.path.endswith(what) for came in other.came)

    for _ in range(3):
        assert (await post()).json()["status"] == 200
    assert (made("createSession"), made("refreshSession")) == (1, 0)
    # Its end came early: the refresh token makes a new one, and the same is asked again, unseen by the service.
    new = {"accessJwt": "access-2-recognisable", "refreshJwt": "refresh-2-recognisable", "did": "did:plc:a"}
    other.answer("POST /xrpc/com.atproto.server.refreshSession", new)
    expired = JSONResponse({"error": "ExpiredToken", "message": "Token has expired"}, 400)
    other.answer("POST /xrpc/com.atproto.repo.putRecord", expired, {"uri": "at://a", "cid": "b"})
    assert (await post()).json()["status"] == 200
    assert (made("createSession"), made("refreshSession")) == (1, 1)
    assert other.asked[-1].headers["authorization"] == "Bearer access-2-recognisable"
    # Neither is good any more: the password makes one, and if that is refused, somebody has to know.
    other.answer("POST /xrpc/com.atproto.server.refreshSession", expired)
    other.answer(
        "POST /xrpc/com.atproto.server.createSession", JSONResponse({"error": "AuthenticationRequired"}, 401)
    )
    other.answer("POST /xrpc/com.atproto.repo.putRecord", expired)
    refused = await post()
    assert (refused.json()["type"], "app password" in refused.json()["detail"]) == (
        "account.needs_reconnecting",
        True,
    )
    assert (await api.get("/v1/accounts/sky")).json()["state"] == "needs_reconnecting"


def test_a_ghost_token_is_what_ghost_expects() -> None:

    kind = KINDS["ghost"]
    credentials = validated(kind, {"key": GHOST_KEY})
    context = KindContext(kind.settings.model_validate({"url": "https://a.example"}), credentials, NOW)
    sent = kind.outgoing(context, RemoteRequest("GET", "/ghost/api/admin/site/"), None).headers
    token = sent["Authorization"].removeprefix("Ghost ")
    header, claims, signature = (
        base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(".")
    )
    assert json.loads(header) == {"alg": "HS256", "kid": GHOST_KEY.partition(":")[0], "typ": "JWT"}
    told = json.loads(claims)
    assert told["aud"] == "/admin/"
    assert told["exp"] - told["iat"] <= 300
    secret = bytes.fromhex(GHOST_KEY.partition(":")[2])
    assert hmac.new(secret, token.rpartition(".")[0].encode(), hashlib.sha256).digest() == signature
