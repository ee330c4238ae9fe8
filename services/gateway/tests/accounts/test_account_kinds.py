"""Each kind of account: where its requests go and with what, who it says it is, and that it keeps its secrets."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import asyncpg
import httpx
import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from fakes.found import CASES as PLAYED
from fakes.found import PLACES
from fakes.serving.cases import EffectPlace
from gateway.accounts.kind import KindContext, RemoteRequest
from gateway.accounts.kinds import KINDS
from gateway.accounts.registry import validated
from tests.fixtures.accounts.other_side import OtherSide

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
        "indexnow",
        {},
        {
            "method": "POST",
            "path": "/indexnow",
            "json": {
                "host": "acme.example",
                "key": "0123456789abcdef",
                "keyLocation": "https://acme.example/0123456789abcdef.txt",
                "urlList": ["https://acme.example/cold-brew"],
            },
        },
        "/indexnow",
        ("content-type", "application/json"),
        {},
        None,
        {},
        None,
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


@pytest.mark.extended
async def test_every_kind_is_asked_as_its_provider_wants_it_and_keeps_its_secrets(
    api: httpx.AsyncClient,
    other: OtherSide,
    database_url: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Two have tests of their own; and every network that is played here is asked through a gateway, in
    # tests/end_to_end/test_posts_through_the_gateway.py.
    asked = {case.channel for case in PLAYED if case.credentials is not None}
    assert KINDS.keys() - {case.kind for case in CASES} - {"bluesky", "smtp"} <= asked
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
        came = other.asked[-1]
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
    shows_no_secret(
        case.kind,
        case.settings | ({"url": "https://a.example"} if case.has_url else {}),
        case.credentials,
        RemoteRequest(case.ask["method"], case.ask["path"], headers={"webhook-id": "m"}, body=b"{}"),
    )


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.channel)
def test_nor_do_those_of_what_is_played_here(place: EffectPlace) -> None:
    kind, fake = KINDS[place.account_kind], place.fake()
    fake.url = "https://a.example"
    if kind.is_stale(KindContext(None, validated(kind, place.credentials(fake)), NOW)):
        return  # Its secret goes nowhere but to a session.
    for ask in kind.allowed_requests:
        path = re.sub(r"\{.*?\}", "1", ask.path)
        shows_no_secret(
            kind.name,
            place.settings(fake),
            place.credentials(fake),
            RemoteRequest(ask.method, path, body=b"{}"),
        )


def shows_no_secret(
    name: str, settings: Mapping[str, Any], given: Mapping[str, str], request: RemoteRequest
) -> None:
    kind = KINDS[name]
    credentials = validated(kind, given)
    context = KindContext(kind.settings.model_validate(settings), credentials, NOW)
    outgoing = kind.outgoing(context, request, None)
    assert outgoing.url.startswith("https://")
    for secret in credentials.secrets():
        assert secret not in outgoing.shown
        assert secret not in repr(credentials)
        assert secret not in str(dict(outgoing.query))
