"""The guard of an API: over real HTTP where bytes on the way matter, and message by message where they do not."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chassis import ServiceKey
from chassis.http import guard
from chassis.http.guard import Guard, shown_size
from chassis.http.server import server
from chassis.testing import eventually

KEY = "test-service-key-0123456789"
LIMIT = 1000
BOOK_LIMIT = 50_000
FILE_LIMIT = 100_000
NO_KEY = "no key was sent that this process takes; send the service key in the header X-Service-Key"
WRONG_KEY = (
    "this is not the service key of this process; send the one of its SERVICE_KEY in the header X-Service-Key, or an API key in"
    " the header Authorization, as “Bearer be_…”"
)


class Api:
    """Behind the guard; remembers which bodies got so far."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.app = Starlette(
            routes=[
                Route("/v1/notes", self._take, methods=["POST", "GET"]),
                Route("/v1/books/{name}", self._take, methods=["POST"]),
                Route("/v1/files", self._take, methods=["POST", "PUT"]),
                Route("/page", self._page),
            ]
        )
        self.app.add_middleware(
            Guard,
            authorise=ServiceKey(SecretStr(KEY)),
            max_body_bytes=LIMIT,
            larger_bodies={"/v1/books/{name}": BOOK_LIMIT},
            files={"/v1/files": FILE_LIMIT},
        )
        self.port = 0

    async def _take(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        return JSONResponse({"type": request.headers.get("content-type")})

    async def _page(self, _: Request) -> Response:
        return JSONResponse("for everybody")


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    api = Api()
    serving = server(api.app, "127.0.0.1", 0)
    task = asyncio.create_task(serving.serve())
    async with asyncio.timeout(60):
        while not serving.started:  # noqa: ASYNC110  (the server has no event for it)
            await asyncio.sleep(0.01)
    api.port = serving.servers[0].sockets[0].getsockname()[1]
    yield api
    serving.should_exit = True
    await task


@pytest.fixture
async def http(api: Api) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{api.port}", trust_env=False) as http:
        yield http


async def in_chunks(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * LIMIT


@pytest.mark.extended
@pytest.mark.parametrize("key", [None, "", "wrong", "é"])
@pytest.mark.parametrize("body", [b"", b"{broken", b" " * (LIMIT + 1)])
async def test_without_the_key_nothing_is_said_about_anything_else(
    api: Api, http: httpx.AsyncClient, key: str | None, body: bytes
) -> None:
    headers = [] if key is None else [(b"X-Service-Key", key.encode("latin-1"))]
    for path in ("/v1/notes", "/v1/anything"):
        answer = await http.post(path, content=body, headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (
            401,
            WRONG_KEY if key else NO_KEY,
        )
        assert answer.headers["content-type"] == "application/problem+json"
    assert api.bodies == []


@pytest.mark.parametrize(
    ("header", "sent", "said"),
    [
        (
            "X-Service-Key",
            "be_0123",
            "this is an API key, not the service key; send it in the header Authorization",
        ),
        ("Authorization", "Bearer be_0123", "this process takes no API keys; send the service key"),
        ("Authorization", "Basic abc", "no key was sent that this process takes"),
    ],
)
async def test_a_refusal_says_what_is_true_of_the_key_that_was_sent(
    http: httpx.AsyncClient, header: str, sent: str, said: str
) -> None:
    answer = await http.get("/v1/notes", headers={header: sent})
    assert (answer.status_code, said in answer.json()["detail"]) == (401, True), answer.text


async def test_what_a_stranger_sends_is_not_read() -> None:
    async def receive() -> Any:
        raise AssertionError("the body is read")

    assert (await answers_of(receive, {}))[0]["status"] == 401


async def answers_of(receive: Any, headers: dict[str, str]) -> list[Any]:
    """What is sent for a request whose body comes from `receive`."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/notes",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }
    await Guard(Api().app, authorise=ServiceKey(SecretStr(KEY)), max_body_bytes=LIMIT)(scope, receive, send)
    return sent


async def test_public_paths_ask_for_no_key(http: httpx.AsyncClient) -> None:
    assert (await http.get("/page")).json() == "for everybody"


async def test_too_large_a_body_is_refused_announced_or_not(api: Api, http: httpx.AsyncClient) -> None:
    for content in (b" " * (LIMIT + 1), in_chunks(3)):
        answer = await http.post("/v1/notes", content=content, headers={"X-Service-Key": KEY})
        assert answer.status_code == 413
        assert "larger than 1 kB; shorten it or split it" in answer.json()["detail"]
    assert api.bodies == []


async def test_a_route_may_take_larger_bodies_than_the_others(api: Api, http: httpx.AsyncClient) -> None:
    headers = {"X-Service-Key": KEY}
    body = b'"' + b"x" * (BOOK_LIMIT - 2) + b'"'
    assert (await http.post("/v1/books/moby-dick", content=body, headers=headers)).status_code == 200
    for path, content in (
        ("/v1/books/moby-dick", body + b" "),
        ("/v1/books/moby/dick", body),
        ("/v1/notes", body),
    ):
        assert (await http.post(path, content=content, headers=headers)).status_code == 413
    assert api.bodies == [body]


async def test_a_file_is_handed_on_as_it_came(api: Api, http: httpx.AsyncClient) -> None:
    headers = {"X-Service-Key": KEY, "Content-Type": "application/pdf"}
    content = (b"%PDF-\xff{" * FILE_LIMIT)[:FILE_LIMIT]
    answer = await http.post("/v1/files", content=content, headers=headers)
    assert answer.json() == {"type": "application/pdf"}
    assert api.bodies == [content]
    for refused in (content + b"x", in_chunks(FILE_LIMIT // LIMIT + 1)):
        assert (await http.post("/v1/files", content=refused, headers=headers)).status_code == 413
    assert (
        await http.post("/v1/files", content=content, headers={"X-Service-Key": "wrong"})
    ).status_code == 401
    put = await http.put("/v1/files", content=content, headers=headers)
    assert put.json() == {"type": "application/pdf"}
    assert (await http.put("/v1/files", content=content + b"x", headers=headers)).status_code == 413
    assert (await http.patch("/v1/files", content=b"%PDF-", headers=headers)).status_code == 422
    assert api.bodies == [content, content]


async def test_few_files_are_held_at_a_time(api: Api, http: httpx.AsyncClient) -> None:
    headers = {"X-Service-Key": KEY}
    goes_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"begun"
        await goes_on.wait()

    sending = [
        asyncio.create_task(http.post("/v1/files", content=slowly(), headers=headers))
        for _ in range(guard.FILES_AT_A_TIME)
    ]

    async def is_refused() -> bool:
        refused = await http.post("/v1/files", content=b"one more", headers=headers)
        return refused.status_code == 503 and refused.headers["retry-after"] == "5"

    await eventually(is_refused)
    # What is no file goes on.
    assert (await http.post("/v1/notes", json="a note", headers=headers)).status_code == 200
    goes_on.set()
    assert [(await each).status_code for each in sending] == [200] * guard.FILES_AT_A_TIME
    assert (await http.post("/v1/files", content=b"one more", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(dict.fromkeys(map(str, range(1001)))),
        json.dumps([0] * 1001),
        json.dumps({"a": [[]] * 500 + [{"b": 1}] * 300}),
    ],
    ids=["fields", "entries", "nested"],
)
async def test_many_values_are_refused_before_anybody_complains_of_each(
    api: Api, http: httpx.AsyncClient, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, headers = "/v1/books/of-numbers", {"X-Service-Key": KEY}
    assert (await http.post(url, content=body, headers=headers)).status_code == 200
    monkeypatch.setattr(guard, "MAX_VALUES_OF_LARGER", 1000)
    answer = await http.post(url, content=body, headers=headers)
    assert (answer.status_code, "more than 1,000 fields and entries" in answer.text) == (422, True)
    assert len(api.bodies) == 1


@pytest.mark.parametrize("body", [b"{broken", b"\xff", b'"\\ud800"', b"NaN", b"[" * 900])
async def test_what_is_no_json_is_refused(api: Api, http: httpx.AsyncClient, body: bytes) -> None:
    answer = await http.post("/v1/notes", content=body, headers={"X-Service-Key": KEY})
    assert answer.status_code == 422
    assert "not valid JSON" in answer.json()["detail"]
    assert api.bodies == []


async def test_a_body_arrives_as_it_was_sent_and_as_json(api: Api, http: httpx.AsyncClient) -> None:
    body = b'{"text": "' + b"x" * (LIMIT - 12) + b'"}'
    answer = await http.post("/v1/notes", content=body, headers={"X-Service-Key": KEY})
    assert answer.json() == {"type": "application/json"}
    assert (await http.get("/v1/notes", headers={"X-Service-Key": KEY})).status_code == 200
    assert api.bodies == [body, b""]


async def test_a_client_that_goes_away_is_let_go(api: Api, http: httpx.AsyncClient) -> None:
    with socket.create_connection(("127.0.0.1", api.port)) as leaving:
        head = f"POST /v1/notes HTTP/1.1\r\nHost: x\r\nX-Service-Key: {KEY}\r\nContent-Length: 100\r\n\r\n{{"
        leaving.sendall(head.encode())
    answer = await http.post("/v1/notes", content=b"{}", headers={"X-Service-Key": KEY})
    assert (answer.status_code, api.bodies) == (200, [b"{}"])


async def test_nothing_is_sent_to_one_who_went_away() -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(messages)

    assert await answers_of(receive, {"X-Service-Key": KEY}) == []


@pytest.mark.parametrize(("size", "shown"), [(1000, "1 kB"), (64_000, "64 kB"), (2_500_000, "2.5 MB")])
def test_sizes_are_named_as_people_read_them(size: int, shown: str) -> None:
    assert shown_size(size) == shown
