"""Requests to an account on behalf of a service: rights, allowed requests, number of attempts, and the answer."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
from starlette.responses import JSONResponse, Response

from chassis.testing import eventually, running
from gateway.accounts.kind import RemoteRequest, refusal
from gateway.accounts.kinds.mastodon import MastodonAccount
from gateway.app import GatewayApp
from gateway.settings import Settings
from tests.fixtures.accounts.other_side import OtherSide, ReceivedRequest, client

TOKEN = "token-of-acme-at-mastodon-0123"


async def connect(api: httpx.AsyncClient, other: OtherSide, name: str = "acme", **more: Any) -> None:
    body = {
        "kind": "mastodon",
        "brands": ["acme"],
        "settings": {"url": other.url, "per_minute": 60_000, "together": 1000},
        "credentials": {"token": TOKEN},
    }
    answer = await api.put(f"/v1/accounts/{name}", json=body | more)
    assert answer.status_code == 200, answer.text


def post(text: str = "Hello", **more: Any) -> dict[str, Any]:
    return {"brand": "acme", "method": "POST", "path": "/api/v1/statuses", "json": {"status": text}} | more


def effect(receipt: object, fence: int, *, sends: bool = True) -> dict[str, Any]:
    return {"receipt_id": str(receipt), "step": "post", "fence": fence, "sends": sends}


async def ask(api: httpx.AsyncClient, body: dict[str, Any], name: str = "acme") -> httpx.Response:
    return await api.post(f"/v1/accounts/{name}/requests", json=body)


async def test_a_request_goes_with_the_credentials_and_its_answer_comes_back_whatever_it_is(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    await connect(api, other)
    other.answer(
        "POST /api/v1/statuses",
        JSONResponse(
            {"id": "7", "note": f"you sent {TOKEN}"}, headers={"X-Request-Id": "r1", "Set-Cookie": "a=b"}
        ),
        JSONResponse({"error": "Validation failed"}, 422),
        Response("<h1>away</h1>", 502, media_type="text/html"),
    )
    sent = await ask(api, post(headers={"Idempotency-Key": "k1"}, query={"a": "b c"}))
    assert sent.status_code == 200
    told = sent.json()
    assert (told["status"], told["json"], told["text"]) == (200, {"id": "7", "note": "you sent ***"}, None)
    assert told["headers"]["x-request-id"] == "r1"
    assert "set-cookie" not in told["headers"]
    (came,) = other.asked
    assert came.headers["authorization"] == f"Bearer {TOKEN}"
    assert (came.headers["idempotency-key"], came.query, came.json) == (
        "k1",
        {"a": "b c"},
        {"status": "Hello"},
    )
    assert not came.headers.keys() & {"traceparent", "x-service-key", "cookie"}
    refused, failed = (await ask(api, post())).json(), (await ask(api, post())).json()
    assert (refused["status"], failed["status"], failed["text"]) == (422, 502, "<h1>away</h1>")


async def test_bodies_of_every_form_arrive_as_they_are_meant(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    await connect(api, other)
    other.answer("POST /api/v2/media", {"id": "1"})
    picture = bytes(range(256)) * 400
    parts = [
        {"name": "description", "text": "A cup, full: ä"},
        {
            "name": "file",
            "filename": "a.jpg",
            "type": "image/jpeg",
            "base64": base64.b64encode(picture).decode(),
        },
    ]
    upload = {"brand": "acme", "method": "POST", "path": "/api/v2/media"}
    for body in (
        {"parts": parts},
        {"form": {"a": "b&c", "d": "ü"}},
        {"content": {"type": "image/jpeg", "base64": base64.b64encode(picture).decode()}},
    ):
        assert (await ask(api, upload | body)).json()["status"] == 200
    multipart, form, raw = other.asked
    assert picture in multipart.body
    assert b'name="file"; filename="a.jpg"\r\nContent-Type: image/jpeg' in multipart.body
    assert (form.body, form.headers["content-type"]) == (
        b"a=b%26c&d=%C3%BC",
        "application/x-www-form-urlencoded",
    )
    assert (raw.body, raw.headers["content-type"]) == (picture, "image/jpeg")
    assert (await ask(api, upload | {"form": {"a": "b"}, "json": {}})).status_code == 422
    assert (
        await ask(api, upload | {"content": {"type": "image/jpeg", "base64": "not base64!"}})
    ).status_code == 422


@pytest.mark.parametrize(
    "strange",
    [
        RemoteRequest("GET", "/api/v1/conversations"),
        RemoteRequest("GET", "/api/v1/accounts/7/statuses/../../../conversations"),
        RemoteRequest("GET", "/api/v1/accounts/%2e%2e/statuses"),
        RemoteRequest("GET", "/api/v1/accounts/7%2f..%2f..%2fconversations%3f/statuses"),
        RemoteRequest("GET", "/api/v1/accounts/7%252f/statuses"),
        RemoteRequest("GET", "/api/v1/accounts//statuses"),
        RemoteRequest("GET", "/api/v1/accounts/7?x/statuses"),
        RemoteRequest("POST", "/api/v1/accounts/7/statuses"),
        RemoteRequest("GET", "/api/v1/accounts/7/statuses", (("access_token", "x"),)),
        RemoteRequest("POST", "/api/v1/statuses", document={"status": "psst", "visibility": "direct"}),
        RemoteRequest("POST", "/api/v1/statuses", document={"_method": "DELETE"}),
        RemoteRequest("DELETE", "/api/v1/statuses/7"),
    ],
)
def test_what_is_not_among_what_services_ask_is_refused(strange: RemoteRequest) -> None:
    assert isinstance(refusal(MastodonAccount.allowed_requests, strange), str)


async def test_what_is_refused_is_not_asked(api: httpx.AsyncClient, other: OtherSide) -> None:
    await connect(api, other)
    for strange in (
        {"path": "/api/v1/reports"},
        {"headers": {"Authorization": "Bearer other"}},
        {"headers": {"X-HTTP-Method-Override": "DELETE"}},
        {"headers": {"Host": "elsewhere.example"}},
    ):
        refused = await ask(api, post() | strange)
        assert (refused.status_code, refused.json()["type"]) == (422, "account.request_not_allowed")
    assert not other.asked


async def test_messages_to_somebody_are_not_shown(api: httpx.AsyncClient, other: OtherSide) -> None:
    await connect(api, other)
    listed = [{"id": "1", "visibility": "public"}, {"id": "2", "visibility": "direct"}]
    other.answer("GET /api/v1/accounts/7/statuses", listed)
    other.answer("GET /api/v1/statuses/2", listed[1])
    check = {"brand": "acme", "method": "GET"}
    found = await ask(api, check | {"path": "/api/v1/accounts/7/statuses"})
    assert found.json()["json"] == listed[:1]
    assert (await ask(api, check | {"path": "/api/v1/statuses/2"})).json()["status"] == 404


async def test_no_other_brand_uses_or_learns_of_it(api: httpx.AsyncClient, other: OtherSide) -> None:
    await connect(api, other)
    await connect(api, other, "everybodys", brands=["acme", "*"])
    strange = await ask(api, post(brand="other"))
    unknown = await ask(api, post(brand="other"), "nowhere")
    assert strange.json()["type"] == unknown.json()["type"] == "account.not_connected"
    assert strange.json()["detail"].replace("acme", "nowhere") == unknown.json()["detail"]
    assert (await ask(api, post(brand=None))).status_code == 424
    assert not other.asked
    other.answer("POST /api/v1/statuses", {})
    assert (await ask(api, post(brand="other"), "everybodys")).status_code == 200
    assert (await ask(api, post(brand=None), "everybodys")).status_code == 200

    async def names(brand: str) -> list[str]:
        return [
            each["name"] for each in (await api.get("/v1/accounts", params={"brand": brand})).json()["items"]
        ]

    assert (await names("acme"), await names("other")) == (["acme", "everybodys"], ["everybodys"])


async def test_credentials_are_sealed_and_never_given_back(
    api: httpx.AsyncClient, other: OtherSide, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    await connect(api, other)
    shown = [(await api.get("/v1/accounts")).text, (await api.get("/v1/accounts/acme")).text]
    connection = await asyncpg.connect(database_url)
    try:
        for table in ("accounts", "audit_log", "account_calls", "calls"):
            shown += [str(dict(row)) for row in await connection.fetch(f"select * from {table}")]
    finally:
        await connection.close()
    assert any("PUT /v1/accounts/{name}" in each for each in shown)
    assert not any(TOKEN in each for each in shown)
    # Elsewhere they are not sent: not even by somebody who may connect accounts.
    moved = {"kind": "mastodon", "brands": ["acme"], "settings": {"url": "http://127.0.0.1:1"}}
    assert (await api.put("/v1/accounts/acme", json=moved)).json()["type"] == "credentials.key_missing"
    kept = {"kind": "mastodon", "brands": ["acme", "other"], "settings": {"url": other.url}}
    assert (await api.put("/v1/accounts/acme", json=kept)).status_code == 200
    other.answer("POST /api/v1/statuses", {})
    assert (await ask(api, post(brand="other"))).json()["status"] == 200
    assert other.asked[-1].headers["authorization"] == f"Bearer {TOKEN}"
    assert (await api.delete("/v1/accounts/acme")).status_code == 204
    assert (await ask(api, post())).json()["type"] == "account.not_connected"


async def test_what_is_wrong_with_credentials_is_said_without_quoting_them(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    body = {"kind": "ghost", "brands": ["acme"], "settings": {"url": other.url}}
    for credentials in (
        {"key": "recognisable-0123"},
        {"password": "recognisable-0123"},
        {"key": "recognisable\n0123"},
    ):
        refused = await api.put("/v1/accounts/blog", json=body | {"credentials": credentials})
        assert (refused.status_code, "recognisable" in refused.text) == (422, False)
        assert "credentials." in refused.json()["detail"]


async def test_a_private_address_is_not_asked(api: httpx.AsyncClient, other: OtherSide) -> None:
    await connect(api, other, settings={"url": other.url.replace("127.0.0.1", "127.0.0.3")})
    refused = await ask(api, post())
    assert (refused.status_code, refused.json()["type"]) == (503, "call.not_sent")
    assert "EGRESS_REACHABLE_NETWORKS" in refused.json()["detail"]


@pytest.mark.extended
async def test_it_is_told_whether_anything_was_sent(api: httpx.AsyncClient, other: OtherSide) -> None:
    heard = asyncio.Event()

    async def late(_: ReceivedRequest) -> Response:
        await heard.wait()
        return Response()

    await connect(api, other)
    other.answers["POST /api/v1/statuses"] = late
    unknown = await ask(api, post(seconds=2.0))
    heard.set()
    assert (unknown.status_code, unknown.json()["type"]) == (424, "call.no_answer")
    await connect(api, other, settings={"url": "http://127.0.0.1:9"})
    unsent = await ask(api, post())
    assert (unsent.status_code, unsent.json()["type"], unsent.json()["transient"]) == (
        503,
        "call.not_sent",
        True,
    )
    assert TOKEN not in unknown.text + unsent.text


async def test_redirects_are_not_followed(api: httpx.AsyncClient, other: OtherSide) -> None:
    await connect(api, other)
    other.answer(
        "POST /api/v1/statuses", Response(status_code=307, headers={"Location": f"{other.url}/else"})
    )
    assert (await ask(api, post())).json()["status"] == 307
    assert len(other.asked) == 1


async def test_whoever_was_replaced_sends_nothing_any_more(api: httpx.AsyncClient, other: OtherSide) -> None:
    await connect(api, other)
    other.answer("POST /api/v1/statuses", {})
    receipt = uuid4()
    for fence, status in ((3, 200), (2, 409), (3, 200), (5, 200), (4, 409)):
        assert (await ask(api, post(effect=effect(receipt, fence)))).status_code == status
    late = await ask(api, post(effect=effect(receipt, 4)))
    assert (late.json()["type"], len(other.asked)) == ("call.fenced", 3)
    assert (await ask(api, post(effect=effect(uuid4(), 0)))).status_code == 200

    async def close(fence: int, brand: str = "acme") -> httpx.Response:
        body = {"brand": brand, "receipt_id": str(receipt), "fence": fence}
        return await api.post("/v1/accounts/acme/fences", json=body)

    assert [(await close(fence)).status_code for fence in (7, 7, 6)] == [204, 204, 409]
    assert (await close(9, "other")).json()["type"] == "account.not_connected"
    assert (await ask(api, post(effect=effect(receipt, 6)))).json()["type"] == "call.fenced"


async def test_nobody_looks_while_what_was_sent_may_still_arrive(
    settings: Callable[[], Settings], other: OtherSide
) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(_: ReceivedRequest) -> Response:
        arrived.set()
        await go_on.wait()
        return JSONResponse({})

    check = {"brand": "acme", "method": "GET", "path": "/api/v1/accounts/7/statuses"}
    async with (
        running(GatewayApp(settings())) as one,
        running(GatewayApp(settings())) as two,
        client(one) as api,
        client(two) as another,
    ):
        await connect(api, other)
        other.answers["POST /api/v1/statuses"] = slowly
        other.answer("GET /api/v1/accounts/7/statuses", [])
        receipt = uuid4()
        sending = asyncio.create_task(ask(api, post(effect=effect(receipt, 1), seconds=20)))
        await arrived.wait()
        for body in (check | {"effect": effect(receipt, 2, sends=False)}, post(effect=effect(receipt, 2))):
            early = await ask(another, body)
            assert (early.status_code, early.json()["type"]) == (409, "call.under_way")
            assert early.json()["retry_at"]
        # Another receipt has nothing to do with it.
        assert (await ask(another, check | {"effect": effect(uuid4(), 1, sends=False)})).status_code == 200
        go_on.set()
        assert (await sending).json()["status"] == 200
        later = await ask(another, check | {"effect": effect(receipt, 2, sends=False)})
        assert later.status_code == 200


async def test_a_dead_process_holds_nobody_up_for_longer_than_its_request_could_take(
    api: httpx.AsyncClient, other: OtherSide, database_url: str
) -> None:
    await connect(api, other)
    other.answer("GET /api/v1/accounts/7/statuses", [])
    receipt = uuid4()
    connection = await asyncpg.connect(database_url)
    insert = """
        insert into account_calls (account, brand, receipt_id, fence, sends, until)
        values ('acme', 'acme', $1, 1, true, clock_timestamp() + interval '1 hour')
        """
    await connection.execute(insert, receipt)
    check = {"brand": "acme", "method": "GET", "path": "/api/v1/accounts/7/statuses"}
    body = check | {"effect": effect(receipt, 2, sends=False)}
    assert (await ask(api, body)).json()["type"] == "call.under_way"
    await connection.execute(
        "update account_calls set until = clock_timestamp() where receipt_id = $1", receipt
    )
    await connection.close()

    async def is_free() -> bool:
        return (await ask(api, body)).status_code == 200

    await eventually(is_free)


async def test_whoever_asked_may_go_away_and_the_request_is_carried_to_its_end(
    api: httpx.AsyncClient, other: OtherSide, database_url: str
) -> None:
    arrived, go_on, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slowly(_: ReceivedRequest) -> Response:
        arrived.set()
        await go_on.wait()
        done.set()
        return JSONResponse({})

    await connect(api, other)
    other.answers["POST /api/v1/statuses"] = slowly
    sending = asyncio.create_task(ask(api, post()))
    await arrived.wait()
    sending.cancel()
    go_on.set()
    await done.wait()
    connection = await asyncpg.connect(database_url)

    async def is_over() -> bool:
        return bool(await connection.fetchval("select count(*) = 0 from account_calls"))

    try:
        await eventually(is_over)
    finally:
        await connection.close()


async def test_a_limit_that_was_told_holds_for_everybody(
    settings: Callable[[], Settings], other: OtherSide
) -> None:
    async with (
        running(GatewayApp(settings())) as one,
        running(GatewayApp(settings())) as two,
        client(one) as api,
        client(two) as another,
    ):
        await connect(api, other)
        other.answer(
            "POST /api/v1/statuses",
            JSONResponse(
                {"error": "Too many"}, 429, headers={"X-RateLimit-Reset": "2999-01-01T00:00:00.000Z"}
            ),
        )
        told = (await ask(api, post())).json()
        assert (told["status"], told["retry_at"][:4]) == (429, "2999")
        limited = await ask(another, post())
        assert (limited.status_code, limited.json()["type"]) == (429, "limit.reached")
        assert limited.json()["retry_at"]
        assert len(other.asked) == 1


async def test_a_refused_token_is_looked_at_and_told_to_everybody(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    await connect(api, other)
    other.answer("POST /api/v1/statuses", JSONResponse({"error": "no such thing for you"}, 401))
    other.answer("GET /api/v1/accounts/verify_credentials", {"id": "7", "acct": "acme"})
    # The token is good: the refusal was about this request.
    assert (await ask(api, post())).json()["status"] == 401
    revoked = JSONResponse({"error": "The access token was revoked"}, 401)
    other.answer("GET /api/v1/accounts/verify_credentials", revoked)
    refused = await ask(api, post())
    assert refused.json()["type"] == "account.needs_reconnecting"
    assert "connect again" in refused.json()["detail"]
    shown = (await api.get("/v1/accounts/acme")).json()
    assert shown["state"] == "needs_reconnecting"
    asked = len(other.asked)
    assert (await ask(api, post())).json()["type"] == "account.needs_reconnecting"
    assert len(other.asked) == asked
    await connect(api, other)
    assert (await api.get("/v1/accounts/acme")).json()["state"] == "unchecked"


@pytest.mark.extended
@pytest.mark.parametrize(
    "url",
    [
        "https://①②⑦.0.0.1/",
        "https://☕.example",
        "https://ex\nample.org",
        "https://example.org:0",
        "https://[::1",
    ],
)
async def test_an_account_at_an_address_that_cannot_be_asked_is_refused(
    api: httpx.AsyncClient, url: str
) -> None:
    for kind in ("webhook", "mastodon", "wordpress"):
        body = {"kind": kind, "brands": ["acme"], "settings": {"url": url}, "credentials": {}}
        answer = await api.put("/v1/accounts/hook", json=body)
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_webhook_is_signed_with_its_own_secret(api: httpx.AsyncClient, other: OtherSide) -> None:
    body = {"kind": "webhook", "brands": ["acme"], "settings": {"url": f"{other.url}/in"}}
    made = (await api.put("/v1/accounts/hook", json=body)).json()
    message = {"brand": "acme", "method": "POST", "path": "/", "json": {"title": "Über"}}
    assert (await ask(api, message, "hook")).status_code == 422  # no webhook-id
    other.answer("POST /in", Response(status_code=204), Response(status_code=410))
    message["headers"] = {"webhook-id": "msg_1"}
    assert (await ask(api, message, "hook")).json()["status"] == 204
    (came,) = other.asked
    assert json.loads(came.body) == {"title": "Über"}
    signed = f"msg_1.{came.headers['webhook-timestamp']}.".encode() + came.body
    secret = base64.b64decode(made["secret"].removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert came.headers["webhook-signature"] == f"v1,{expected}"
    gone = await ask(api, message, "hook")
    assert (gone.json()["type"], "410" in gone.json()["detail"]) == ("account.needs_reconnecting", True)
