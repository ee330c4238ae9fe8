"""Each kind of account: where its requests go and with what, who it says it is, what it lets be asked, and that it keeps its secrets."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import JSONResponse, PlainTextResponse, Response

from gateway.accounts.kind import Answer, Own, Request, refusal
from gateway.accounts.kinds import KINDS
from gateway.accounts.kinds.x import XSettings
from gateway.accounts.oauth import OAuthCredentials
from gateway.accounts.registry import validated
from tests.fixtures.accounts.other_side import Other

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
GHOST_KEY = "64f0c0ffee64f0c0ffee64f0:" + b"recognisable".hex() * 3


@dataclass(frozen=True)
class Case:
    """A kind, as its provider's documentation has it."""

    kind: str
    credentials: dict[str, str]
    ask: dict[str, Any]
    """Of a service."""
    asks_path: str
    """What the provider sees of it."""
    header: tuple[str, str] | None
    """How it knows us; `None`: by the path."""
    looks: dict[str, Any]
    """Answers to questions of the kind's own."""
    label: str | None
    facts: dict[str, str]
    refusal: tuple[str, Response] | None
    """What it is asked, and how it says that it does not know us (any more)."""
    settings: dict[str, Any] = field(default_factory=dict)
    has_url: bool = False


def fails(document: Any, status: int) -> JSONResponse:
    return JSONResponse(document, status)


GRAPH_EXPIRED = {
    "error": {"message": "Session has expired", "type": "OAuthException", "code": 190, "fbtrace_id": "A"}
}
CASES = [
    Case(
        "mastodon",
        {"token": "mastodon-recognisable-1"},
        {"method": "POST", "path": "/api/v1/statuses", "json": {"status": "Hello"}},
        "/api/v1/statuses",
        ("authorization", "Bearer mastodon-recognisable-1"),
        {
            "GET /api/v1/accounts/verify_credentials": {
                "id": "7",
                "acct": "acme",
                "url": "https://a.example/@acme",
            }
        },
        "@acme",
        {"id": "7", "acct": "acme", "url": "https://a.example/@acme"},
        ("GET /api/v1/accounts/verify_credentials", fails({"error": "The access token is invalid"}, 401)),
        has_url=True,
    ),
    Case(
        "wordpress",
        {"user": "editor", "password": "abcd EFGH recognisable"},
        {
            "method": "POST",
            "path": "/wp-json/wp/v2/posts",
            "query": {"context": "edit"},
            "json": {"status": "draft"},
        },
        "/wp-json/wp/v2/posts",
        ("authorization", "Basic ZWRpdG9yOmFiY2QgRUZHSCByZWNvZ25pc2FibGU="),
        {"GET /wp-json/wp/v2/users/me": {"id": 3, "name": "The Editor", "roles": ["editor"]}},
        "The Editor",
        {"user_id": "3"},
        ("GET /wp-json/wp/v2/users/me", fails({"code": "incorrect_password", "data": {"status": 401}}, 401)),
        has_url=True,
    ),
    Case(
        "ghost",
        {"key": GHOST_KEY},
        {
            "method": "POST",
            "path": "/ghost/api/admin/posts/",
            "query": {"source": "html"},
            "json": {"posts": [{}]},
        },
        "/ghost/api/admin/posts/",
        None,
        {
            "GET /ghost/api/admin/posts/": {"posts": []},
            "GET /ghost/api/admin/site/": {"site": {"title": "The Blog", "version": "5.130"}},
        },
        "The Blog",
        {"version": "5.130"},
        ("GET /ghost/api/admin/posts/", fails({"errors": [{"message": "Unknown Admin API Key"}]}, 401)),
        has_url=True,
    ),
    Case(
        "devto",
        {"key": "devto-recognisable-1"},
        {"method": "POST", "path": "/api/articles", "json": {"article": {}}},
        "/api/articles",
        ("api-key", "devto-recognisable-1"),
        {"GET /api/users/me": {"id": 9, "username": "acme"}},
        "@acme",
        {"id": "9", "username": "acme"},
        ("GET /api/users/me", fails({"error": "unauthorized", "status": 401}, 401)),
    ),
    Case(
        "telegram",
        {"token": "7000000001:AArecognisable-1"},
        {"method": "POST", "path": "/sendMessage", "json": {"chat_id": "@acme_coffee", "text": "Hello"}},
        "/bot7000000001:AArecognisable-1/sendMessage",
        None,
        {
            "GET /bot7000000001:AArecognisable-1/getMe": {"ok": True, "result": {"username": "acme_bot"}},
            "GET /bot7000000001:AArecognisable-1/getChat": {
                "ok": True,
                "result": {"title": "Acme Coffee", "username": "acme_coffee"},
            },
        },
        "Acme Coffee",
        {"chat": "@acme_coffee", "bot": "acme_bot", "username": "acme_coffee"},
        (
            "GET /bot7000000001:AArecognisable-1/getMe",
            fails({"ok": False, "error_code": 401, "description": "Unauthorized"}, 401),
        ),
        {"chat": "@acme_coffee"},
    ),
    Case(
        "discord",
        {"url": "https://discord.com/api/webhooks/223704706495545344/discord-recognisable-1"},
        {
            "method": "POST",
            "path": "/",
            "query": {"wait": "true"},
            "json": {"allowed_mentions": {"parse": []}},
        },
        "/api/v10/webhooks/223704706495545344/discord-recognisable-1",
        None,
        {
            "GET /api/v10/webhooks/223704706495545344/discord-recognisable-1": {
                "name": "Acme",
                "channel_id": "5",
                "guild_id": "6",
                "token": "discord-recognisable-1",
            }
        },
        "Acme",
        {"id": "223704706495545344", "channel_id": "5", "guild_id": "6"},
        (
            "GET /api/v10/webhooks/223704706495545344/discord-recognisable-1",
            fails({"message": "Unknown Webhook", "code": 10015}, 404),
        ),
    ),
    Case(
        "slack",
        {"url": "https://hooks.slack.com/services/T0001/B0001/recognisable1"},
        {"method": "POST", "path": "/", "json": {"text": "Hello"}},
        "/services/T0001/B0001/recognisable1",
        None,
        {"POST /services/T0001/B0001/recognisable1": PlainTextResponse("no_text", 400)},
        None,
        {},
        ("POST /services/T0001/B0001/recognisable1", PlainTextResponse("no_service", 404)),
    ),
    Case(
        "x",
        {"access": "x-recognisable-1"},
        {"method": "POST", "path": "/2/tweets", "json": {"text": "Hello"}},
        "/2/tweets",
        ("authorization", "Bearer x-recognisable-1"),
        {"GET /2/users/me": {"data": {"id": "2244994945", "username": "acme"}}},
        "@acme",
        {"id": "2244994945", "username": "acme"},
        ("GET /2/users/me", fails({"title": "Unauthorized", "status": 401}, 401)),
    ),
    Case(
        "linkedin",
        {"access": "linkedin-recognisable-1"},
        {
            "method": "POST",
            "path": "/rest/posts",
            "headers": {"LinkedIn-Version": "202610", "X-Restli-Protocol-Version": "2.0.0"},
            "json": {"commentary": "Hello"},
        },
        "/rest/posts",
        ("authorization", "Bearer linkedin-recognisable-1"),
        {"GET /v2/userinfo": {"sub": "782bbtaQ", "name": "Ada Acme"}},
        "Ada Acme",
        {"id": "782bbtaQ", "author": "urn:li:organization:2414183"},
        ("GET /v2/userinfo", fails({"code": "EXPIRED_ACCESS_TOKEN", "status": 401}, 401)),
        {"organization": "2414183"},
    ),
    Case(
        "instagram",
        {"access": "instagram-recognisable-1"},
        {"method": "POST", "path": "/v23.0/178/media_publish", "form": {"creation_id": "1"}},
        "/v23.0/178/media_publish",
        ("authorization", "Bearer instagram-recognisable-1"),
        {"GET /v23.0/me": {"user_id": "178", "id": "2", "username": "acme.coffee"}},
        "@acme.coffee",
        {"id": "178", "username": "acme.coffee"},
        ("GET /v23.0/me", fails(GRAPH_EXPIRED, 400)),
    ),
    Case(
        "threads",
        {"access": "threads-recognisable-1"},
        {"method": "POST", "path": "/v1.0/me/threads", "form": {"text": "Hello"}},
        "/v1.0/me/threads",
        ("authorization", "Bearer threads-recognisable-1"),
        {"GET /v1.0/me": {"id": "178", "username": "acme.coffee"}},
        "@acme.coffee",
        {"id": "178", "username": "acme.coffee"},
        ("GET /v1.0/me", fails(GRAPH_EXPIRED, 401)),
    ),
    Case(
        "webhook",
        {"secret": "whsec_" + "cmVjb2duaXNhYmxlLXJlY29nbmlzYWJsZQ=="},
        {"method": "POST", "path": "/", "headers": {"webhook-id": "msg_1"}, "json": {"title": "Hello"}},
        "/in",
        ("webhook-id", "msg_1"),
        {},
        None,
        {},
        None,
        has_url=True,
    ),
]


async def test_every_kind_is_asked_as_its_provider_wants_it_and_keeps_its_secrets(
    api: httpx.AsyncClient,
    other: Other,
    database_url: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert {case.kind for case in CASES} == KINDS.keys() - {
        "bluesky",
        "smtp",
    }  # these have tests of their own
    seen: list[str] = []
    secrets: list[str] = []
    for case in CASES:
        secrets += validated(KINDS[case.kind], case.credentials).secrets()
        address = other.url + ("/in" if case.kind == "webhook" else "")
        body = {
            "kind": case.kind,
            "brands": ["acme"],
            "settings": case.settings | ({"url": address} if case.has_url else {"api_url": other.url}),
            "credentials": case.credentials,
        }
        put = await api.put(f"/v1/accounts/{case.kind}", json=body)
        assert put.status_code == 200, put.text
        for place, answer in case.looks.items():
            other.answer(place, answer)
        checked = await api.post(f"/v1/accounts/{case.kind}/check")
        told = checked.json()
        assert (told["state"], told["label"]) == ("ok", case.label), checked.text
        assert case.facts.items() <= told["facts"].items(), case.kind
        assert told["checked_at"]

        # They repeat what they were given.
        other.answer(
            f"{case.ask['method']} {case.asks_path}", JSONResponse({"id": "1", "you": case.credentials}, 201)
        )
        asked = await api.post(f"/v1/accounts/{case.kind}/requests", json={"brand": "acme", **case.ask})
        assert (asked.status_code, asked.json()["status"]) == (200, 201), asked.text
        came = other.came[-1]
        assert (came.method, came.path) == (case.ask["method"], case.asks_path)
        assert came.query == case.ask.get("query", {})
        if case.header is not None:
            assert came.headers[case.header[0]] == case.header[1]
        seen += [put.text if "whsec" not in put.text else "", checked.text, asked.text]

        if case.refusal is not None:
            place, answer = case.refusal
            other.answer(place, answer)
            refused = (await api.post(f"/v1/accounts/{case.kind}/check")).json()
            assert refused["state"] == "needs_reconnecting", case.kind
            assert "connect again" in refused["detail"]
            unasked = await api.post(f"/v1/accounts/{case.kind}/requests", json={"brand": "acme", **case.ask})
            assert unasked.json()["type"] == "account.needs_reconnecting"
            seen += [json.dumps(refused), unasked.text]
    connection = await asyncpg.connect(database_url)
    try:
        tables = await connection.fetch("select tablename from pg_tables where schemaname = current_schema()")
        for table in tables:
            seen += [
                str(dict(row)) for row in await connection.fetch(f'select * from "{table["tablename"]}"')
            ]
    finally:
        await connection.close()
    seen += [*capfd.readouterr(), caplog.text]
    everything = "\n".join(seen)
    assert "account_refused" in everything
    assert not [secret for secret in secrets if secret in everything]
    assert "recognisable" not in everything


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_what_traces_and_errors_show_of_a_request_has_no_secret(case: Case) -> None:
    kind = KINDS[case.kind]
    settings = kind.settings.model_validate(
        case.settings | ({"url": "https://a.example"} if case.has_url else {})
    )
    credentials = validated(kind, case.credentials)
    own = Own(settings, credentials, NOW)
    request = Request(case.ask["method"], case.ask["path"], headers={"webhook-id": "m"}, body=b"{}")
    outgoing = kind.outgoing(own, request, None)
    assert outgoing.url.startswith("https://")
    for secret in credentials.secrets():
        assert secret not in outgoing.shown
        assert secret not in repr(credentials)
        assert secret not in str(dict(outgoing.query))


STRANGE = {
    "instagram": [
        Request("GET", "/178/conversations", (("fields", "id"),)),
        Request("GET", "/v23.0/me/conversations"),
        Request("GET", "/v23.0/me", (("fields", "id,conversations"),)),
        Request("GET", "/v23.0/me", (("fields", "id{conversations}"),)),
        Request("GET", "/v23.0/178", (("method", "delete"),)),
        Request("POST", "/v23.0/178/media", document={"method": "delete"}),
        Request("POST", "/v23.0/178/media", document={"access_token": "x"}),
        Request("DELETE", "/v23.0/178"),
        Request("POST", "/v23.0/178/messages"),
    ],
    "x": [
        Request("DELETE", "/2/tweets/1"),
        Request("GET", "/2/dm_events"),
        Request("POST", "/2/dm_conversations/with/1/messages"),
        Request("PUT", "/2/users/1"),
        Request("POST", "/2/oauth2/token"),
    ],
    "linkedin": [
        Request("DELETE", "/rest/posts/1"),
        Request("GET", "/rest/messages"),
        Request("POST", "/rest/posts/1"),
        Request("GET", "/rest/posts", (("q", "dscAdAccount"),)),
    ],
    "bluesky": [
        Request(
            "POST", "/xrpc/com.atproto.repo.putRecord", document={"collection": "app.bsky.actor.profile"}
        ),
        Request("POST", "/xrpc/com.atproto.repo.deleteRecord", document={"collection": "app.bsky.feed.post"}),
        Request("GET", "/xrpc/chat.bsky.convo.listConvos"),
        Request("POST", "/xrpc/com.atproto.server.createAppPassword"),
    ],
    "discord": [
        Request("DELETE", "/"),
        Request("GET", "/"),
        Request("POST", "/", document={"content": "@everyone"}),
        Request("POST", "/", document={"payload_json": '{"content": "@everyone"}'}),
        Request("DELETE", "/messages/1"),
    ],
    "telegram": [
        Request("POST", "/sendMessage", document={"chat_id": "@somebody_else", "text": "psst"}),
        Request("GET", "/getUpdates"),
        Request("POST", "/deleteMessage", document={"chat_id": "@acme_coffee"}),
    ],
    "wordpress": [
        Request("DELETE", "/wp-json/wp/v2/posts/1"),
        Request("POST", "/wp-json/wp/v2/posts/1", (("_method", "DELETE"),)),
        Request("GET", "/wp-json/wp/v2/posts", (("rest_route", "/wp/v2/users"),)),
        Request("POST", "/wp-json/wp/v2/users"),
        Request("POST", "/wp-json/wp/v2/settings"),
        Request("POST", "/wp-json/wp/v2/plugins"),
        Request("POST", "/wp-json/batch/v1"),
    ],
    "ghost": [
        Request("DELETE", "/ghost/api/admin/posts/1/"),
        Request("GET", "/ghost/api/admin/members/"),
        Request("PUT", "/ghost/api/admin/settings/"),
    ],
    "devto": [Request("GET", "/api/followers/users"), Request("DELETE", "/api/articles/1")],
    "slack": [Request("GET", "/"), Request("POST", "/api/chat.postMessage")],
    "webhook": [Request("GET", "/"), Request("POST", "/elsewhere")],
    "smtp": [Request("POST", "/")],
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_stolen_key_deletes_nothing_and_reads_no_messages(kind: str) -> None:
    settings = (
        KINDS["telegram"].settings.model_validate({"chat": "@acme_coffee"}) if kind == "telegram" else None
    )
    for request in STRANGE[kind]:
        assert isinstance(refusal(KINDS[kind].asks, request, settings), str), request


def answered(status: int, document: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, dict(headers or {}), json.dumps(document).encode())


IN_A_MINUTE = str(int((NOW + timedelta(minutes=1)).timestamp()))


@pytest.mark.parametrize(
    ("kind", "answer", "seconds"),
    [
        ("x", answered(429, headers={"x-rate-limit-reset": IN_A_MINUTE}), 60),
        (
            "x",
            answered(200, headers={"x-rate-limit-remaining": "0", "x-rate-limit-reset": IN_A_MINUTE}),
            None,
        ),
        ("mastodon", answered(429, headers={"x-ratelimit-reset": "2026-11-22T12:01:00.000Z"}), 60),
        (
            "mastodon",
            answered(
                200, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "2026-11-22T12:01:00Z"}
            ),
            60,
        ),
        ("bluesky", answered(429, headers={"ratelimit-reset": IN_A_MINUTE}), 60),
        ("discord", answered(429, {"message": "limited", "retry_after": 64.57, "global": False}), 65),
        (
            "discord",
            answered(204, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "1.5"}),
            1.5,
        ),
        ("telegram", answered(429, {"ok": False, "parameters": {"retry_after": 35}}), 35),
        ("slack", answered(429, headers={"retry-after": "30"}), 30),
        ("instagram", answered(403, {"error": {"code": 4, "message": "limit"}}), 900),
        ("devto", answered(429, headers={"retry-after": "30"}), 30),
        ("linkedin", answered(429), 60),
        ("wordpress", answered(503), None),
    ],
)
def test_how_each_provider_asks_for_a_pause(kind: str, answer: Answer, seconds: float | None) -> None:
    pause = KINDS[kind].pause(answer, NOW)
    assert (None if pause is None else pause.total_seconds()) == seconds


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
    own = Own(XSettings(), OAuthCredentials(access=SecretStr("a")), NOW)
    kind = KINDS["x"]
    assert kind.cost(own, Request("POST", "/2/tweets", document={"text": text})) == micros
    assert kind.cost(own, Request("GET", "/2/users/1/tweets")) == 0


async def test_posts_on_x_are_in_the_ledger_and_caps_hold(api: httpx.AsyncClient, other: Other) -> None:
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
    assert len(other.came) == 4
    assert (await post("No link")).status_code == 200
    assert (
        await api.put("/v1/accounts/acme-x", json=body | {"settings": {"api_url": "http://127.0.0.1:9"}})
    ).is_success
    assert (await post("No link")).json()["type"] == "call.not_sent"
    assert (await spent())[-1][::2] == ("released", 0)


async def test_a_session_of_bluesky_is_made_once_kept_and_renewed(
    api: httpx.AsyncClient, other: Other
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
    expired = fails({"error": "ExpiredToken", "message": "Token has expired"}, 400)
    other.answer("POST /xrpc/com.atproto.repo.putRecord", expired, {"uri": "at://a", "cid": "b"})
    assert (await post()).json()["status"] == 200
    assert (made("createSession"), made("refreshSession")) == (1, 1)
    assert other.came[-1].headers["authorization"] == "Bearer access-2-recognisable"
    # Neither is good any more: the password makes one, and if that is refused, somebody has to know.
    other.answer("POST /xrpc/com.atproto.server.refreshSession", expired)
    other.answer(
        "POST /xrpc/com.atproto.server.createSession", fails({"error": "AuthenticationRequired"}, 401)
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
    own = Own(kind.settings.model_validate({"url": "https://a.example"}), credentials, NOW)
    sent = kind.outgoing(own, Request("GET", "/ghost/api/admin/site/"), None).headers
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
