"""What each kind lets be asked, and how long it has to be left alone when its provider wants a pause."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateway.accounts.kind import RemoteRequest, RemoteResponse, refusal
from gateway.accounts.kinds import KINDS

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)

STRANGE = {
    "instagram": [
        RemoteRequest("GET", "/178/conversations", (("fields", "id"),)),
        RemoteRequest("GET", "/v23.0/me/conversations"),
        RemoteRequest("GET", "/v23.0/me", (("fields", "id,conversations"),)),
        RemoteRequest("GET", "/v23.0/me", (("fields", "id{conversations}"),)),
        RemoteRequest("GET", "/v23.0/178", (("method", "delete"),)),
        RemoteRequest("POST", "/v23.0/178/media", document={"method": "delete"}),
        RemoteRequest("POST", "/v23.0/178/media", document={"access_token": "x"}),
        RemoteRequest("DELETE", "/v23.0/178"),
        RemoteRequest("POST", "/v23.0/178/messages"),
    ],
    "x": [
        RemoteRequest("DELETE", "/2/tweets/1"),
        RemoteRequest("GET", "/2/dm_events"),
        RemoteRequest("POST", "/2/dm_conversations/with/1/messages"),
        RemoteRequest("PUT", "/2/users/1"),
        RemoteRequest("POST", "/2/oauth2/token"),
    ],
    "linkedin": [
        RemoteRequest("DELETE", "/rest/posts/1"),
        RemoteRequest("GET", "/rest/messages"),
        RemoteRequest("POST", "/rest/posts/1"),
        RemoteRequest("GET", "/rest/posts", (("q", "dscAdAccount"),)),
    ],
    "bluesky": [
        RemoteRequest(
            "POST", "/xrpc/com.atproto.repo.putRecord", document={"collection": "app.bsky.actor.profile"}
        ),
        RemoteRequest(
            "POST", "/xrpc/com.atproto.repo.deleteRecord", document={"collection": "app.bsky.feed.post"}
        ),
        RemoteRequest("GET", "/xrpc/chat.bsky.convo.listConvos"),
        RemoteRequest("POST", "/xrpc/com.atproto.server.createAppPassword"),
    ],
    "discord": [
        RemoteRequest("DELETE", "/"),
        RemoteRequest("GET", "/"),
        RemoteRequest("POST", "/", document={"content": "@everyone"}),
        RemoteRequest("POST", "/", document={"payload_json": '{"content": "@everyone"}'}),
        RemoteRequest("DELETE", "/messages/1"),
    ],
    "telegram": [
        RemoteRequest("POST", "/sendMessage", document={"chat_id": "@somebody_else", "text": "psst"}),
        RemoteRequest("GET", "/getUpdates"),
        RemoteRequest("POST", "/deleteMessage", document={"chat_id": "@acme_coffee"}),
    ],
    "wordpress": [
        RemoteRequest("DELETE", "/wp-json/wp/v2/posts/1"),
        RemoteRequest("POST", "/wp-json/wp/v2/posts/1", (("_method", "DELETE"),)),
        RemoteRequest("GET", "/wp-json/wp/v2/posts", (("rest_route", "/wp/v2/users"),)),
        RemoteRequest("POST", "/wp-json/wp/v2/users"),
        RemoteRequest("POST", "/wp-json/wp/v2/settings"),
        RemoteRequest("POST", "/wp-json/wp/v2/plugins"),
        RemoteRequest("POST", "/wp-json/batch/v1"),
    ],
    "ghost": [
        RemoteRequest("DELETE", "/ghost/api/admin/posts/1/"),
        RemoteRequest("GET", "/ghost/api/admin/members/"),
        RemoteRequest("PUT", "/ghost/api/admin/settings/"),
    ],
    "devto": [RemoteRequest("GET", "/api/followers/users"), RemoteRequest("DELETE", "/api/articles/1")],
    "slack": [RemoteRequest("GET", "/"), RemoteRequest("POST", "/api/chat.postMessage")],
    "indexnow": [
        RemoteRequest("GET", "/indexnow"),
        RemoteRequest(
            "POST", "/indexnow", document={"url": "https://acme.example/", "key": "0123456789abcdef"}
        ),
        RemoteRequest(
            "POST",
            "/indexnow",
            document={
                "host": "acme.example",
                "key": "0123456789abcdef",
                "keyLocation": "https://acme.example/0123456789abcdef.txt",
                "urlList": ["https://rival.example/"],
            },
        ),
    ],
    "webhook": [RemoteRequest("GET", "/"), RemoteRequest("POST", "/elsewhere")],
    "smtp": [RemoteRequest("POST", "/")],
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_stolen_key_deletes_nothing_and_reads_no_messages(kind: str) -> None:
    settings = (
        KINDS["telegram"].settings.model_validate({"chat": "@acme_coffee"}) if kind == "telegram" else None
    )
    for request in STRANGE[kind]:
        assert isinstance(refusal(KINDS[kind].allowed_requests, request, settings), str), request


def answered(status: int, document: Any = None, headers: Mapping[str, str] | None = None) -> RemoteResponse:
    return RemoteResponse(status, dict(headers or {}), json.dumps(document).encode())


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
def test_how_each_provider_asks_for_a_pause(kind: str, answer: RemoteResponse, seconds: float | None) -> None:
    pause = KINDS[kind].pause(answer, NOW)
    assert (None if pause is None else pause.total_seconds()) == seconds
