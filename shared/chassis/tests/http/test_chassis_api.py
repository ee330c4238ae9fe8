"""An API over real HTTP: what all of them refuse, how, and how their document tells of it."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from http import HTTPStatus

import httpx
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel, SecretStr
from starlette.requests import Request

from chassis import ServiceKey
from chassis.http.api import MayRead, MaySubmit, api, in_utc, needs, router
from chassis.http.callers import Caller, Scope
from chassis.http.headers import SAFE_HEADERS
from chassis.observing import traces
from chassis.testing import serving

KEY = "test-service-key-0123456789"
ELSEWHERE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CLAIMED = {"traceparent": ELSEWHERE, "baggage": "correlation_id=chain-of-mine"}


class Note(BaseModel):
    text: str


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = traces.provider(SimpleSpanProcessor(exporter), "test")
    monkeypatch.setattr(traces, "tracer", lambda: provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


@pytest.fixture
async def notes() -> AsyncIterator[httpx.AsyncClient]:
    app = api("Notes", ServiceKey(SecretStr(KEY)), larger_bodies={"/v1/notes/{name}": 200_000})
    routes = router("/notes")

    @routes.put("/{name}", dependencies=[needs(Scope.OPERATE)])
    async def put_note(name: str, note: Note) -> int:
        return len(name + note.text)

    @routes.post("/many")
    async def post_many(caller: MaySubmit, size: int, page: int) -> int:
        return size * page

    @routes.post("/{name}")
    async def post_note(caller: MaySubmit, name: str) -> None:
        if name == "broken":
            raise RuntimeError("a secret of ours")

    @routes.post("", dependencies=[needs(Scope.SUBMIT)])
    async def post_any(note: Note) -> int:
        return len(note.text)

    app.include_router(routes)
    async with (
        serving(app) as origin,
        httpx.AsyncClient(base_url=origin, headers={"X-Service-Key": KEY}, trust_env=False) as client,
    ):
        yield client


@pytest.mark.parametrize("key", ["", "wrong-key-wrong-key"])
async def test_a_stranger_gets_no_word_into_the_traces(
    notes: httpx.AsyncClient, spans: InMemorySpanExporter, key: str
) -> None:
    for method in ("GET", "POST", "PUT"):
        answer = await notes.request(method, "/v1/notes/a", headers=CLAIMED | {"X-Service-Key": key})
        assert answer.status_code == 401
    assert not spans.get_finished_spans()


async def test_whoever_has_the_key_goes_on_with_his_trace(
    notes: httpx.AsyncClient, spans: InMemorySpanExporter
) -> None:
    assert (await notes.post("/v1/notes/a", headers=CLAIMED)).status_code == 200
    (span,) = spans.get_finished_spans()
    assert f"{span.context.trace_id:032x}" in ELSEWHERE
    assert span.attributes is not None
    assert (span.name, span.attributes["correlation_id"]) == ("POST /v1/notes/{name}", "chain-of-mine")


async def test_a_failure_of_ours_is_told_without_its_details_and_traced_with_them(
    notes: httpx.AsyncClient, spans: InMemorySpanExporter
) -> None:
    answer = await notes.post("/v1/notes/broken")
    assert (answer.status_code, answer.json()["status"]) == (500, 500)
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text
    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["http.response.status_code"] == 500
    assert span.attributes["error.type"] == "RuntimeError"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/notes/a/", 404), ("PUT", "/v1/notes/", 404), ("GET", "/", 404), ("DELETE", "/v1/notes/a", 405)],
)  # fmt: skip
async def test_what_is_not_there_is_refused_in_a_sentence_and_nobody_is_sent_elsewhere(
    notes: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await notes.request(method, path, headers={"Host": "elsewhere.example"})
    assert answer.status_code == status
    assert answer.json()["detail"].endswith("/docs lists what there is")
    assert "location" not in answer.headers
    assert answer.headers.get("allow") == ("POST, PUT" if status == 405 else None)


async def test_a_route_is_for_callers_with_its_scope_and_is_told_who_they_are() -> None:
    callers = {
        "reads": Caller("r", frozenset({Scope.READ}), frozenset({"acme"})),
        "may all": Caller("a", frozenset(Scope)),
    }

    async def authorise(request: Request) -> Caller:
        return callers[request.headers["X-Service-Key"]]

    app, routes = api("Notes", authorise), router("/notes")

    @routes.get("")
    async def list_notes(caller: MayRead) -> tuple[str, bool]:
        return caller.name, caller.may_see("other")

    @routes.delete("", dependencies=[needs(Scope.ADMIN)])
    async def burn(note: Note) -> None:
        assert note

    app.include_router(routes)
    async with serving(app) as origin, httpx.AsyncClient(base_url=origin, trust_env=False) as client:
        told = [await client.get("/v1/notes", headers={"X-Service-Key": key}) for key in callers]
        assert [each.json() for each in told] == [["r", False], ["a", True]]
        # Before anything is said about the body.
        refused, unclear = [
            await client.delete("/v1/notes", headers={"X-Service-Key": key}) for key in callers
        ]
        assert (refused.status_code, unclear.status_code) == (403, 422)
        assert refused.json()["detail"] == "this takes a key with the scope 'admin', which yours has not"
        operations = (await client.get("/openapi.json")).json()["paths"]["/v1/notes"]
        assert {method: told["security"] for method, told in operations.items()} == {
            "get": [{"ServiceKey": ["read"]}],
            "delete": [{"ServiceKey": ["admin"]}],
        }


async def test_the_document_tells_of_the_key_and_of_the_size_of_bodies(notes: httpx.AsyncClient) -> None:
    document = (await notes.get("/openapi.json")).json()
    assert list(document["components"]["securitySchemes"]) == ["ServiceKey"]
    told = {
        (method, path): operation["responses"].get("413", {}).get("description")
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert told == {
        ("put", "/v1/notes/{name}"): "The request body is larger than 200 kB.",
        ("post", "/v1/notes/{name}"): None,
        ("post", "/v1/notes/many"): None,
        ("post", "/v1/notes"): "The request body is larger than 64 kB.",
    }
    for path, size, status in (("/v1/notes/a", 200_001, 413), ("/v1/notes/a", 64_001, 422)):
        assert (await notes.put(path, content=b" " * size)).status_code == status


async def test_every_refusal_is_a_problem_and_names_each_field_that_is_wrong(
    notes: httpx.AsyncClient,
) -> None:
    blank = {"type": "about:blank"}
    answer = await notes.put("/v1/notes/a", json={"text": 1, "more": 2})
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == blank | {
        "title": HTTPStatus(422).phrase,
        "status": 422,
        "code": "invalid_request",
        "detail": "text: must be a string",
        "errors": [{"field": "text", "detail": "must be a string"}],
    }
    wrong = await notes.post("/v1/notes/many", params={"size": "x", "page": "y"})
    assert wrong.json()["errors"] == [
        {"field": field, "detail": "must be a whole number"} for field in ("size", "page")
    ]
    for method, path, key, status, code in (
        ("GET", "/v1/notes/a", "", 401, "unauthorized"),
        ("GET", "/nothing", KEY, 404, "not_found"),
        ("GET", "/v1/notes/a", KEY, 405, "method_not_allowed"),
        ("POST", "/v1/notes/broken", KEY, 500, "internal_error"),
    ):
        refused = await notes.request(method, path, headers={"X-Service-Key": key})
        assert refused.headers["content-type"] == "application/problem+json"
        assert list(refused.json()) == ["type", "title", "status", "code", "detail"]
        assert refused.json() == blank | {
            "title": HTTPStatus(status).phrase,
            "status": status,
            "code": code,
            "detail": refused.json()["detail"],
        }
    document = (await notes.get("/openapi.json")).json()
    answers = document["paths"]["/v1/notes/{name}"]["put"]["responses"]
    assert list(answers.pop("200")["content"]) == ["application/json"]
    assert set(answers) == {"401", "403", "413", "415", "422", "429", "503"}
    assert all(list(told["content"]) == ["application/problem+json"] for told in answers.values())
    told = document["components"]["schemas"]["Problem"]["properties"]
    assert list(told) == ["type", "title", "status", "code", "detail", "errors"]


@pytest.mark.parametrize(
    ("method", "path", "key", "body", "status"),
    [
        ("PUT", "/v1/notes/a", KEY, b'{"text": ""}', 200),
        ("PUT", "/v1/notes/a", "", b"", 401),
        ("GET", "/nothing", KEY, b"", 404),
        ("GET", "/v1/notes/a", KEY, b"", 405),
        ("PUT", "/v1/notes/a", KEY, b" " * 200_001, 413),
        ("PUT", "/v1/notes/a", KEY, b"{", 422),
        ("POST", "/v1/notes/broken", KEY, b"", 500),
        ("GET", "/openapi.json", "", b"", 200),
    ],
)
async def test_every_answer_keeps_browsers_safe_and_is_kept_by_nobody(
    notes: httpx.AsyncClient, method: str, path: str, key: str, body: bytes, status: int
) -> None:
    answer = await notes.request(method, path, content=body, headers={"X-Service-Key": key})
    assert answer.status_code == status
    told = {name: answer.headers.get(name) for name in SAFE_HEADERS}
    assert told == SAFE_HEADERS


async def test_what_an_application_says_itself_stands(notes: httpx.AsyncClient) -> None:
    page = await notes.get("/docs")
    assert page.headers.get_list("cache-control") == ["no-cache"]
    assert "style-src 'self'" in page.headers["content-security-policy"]
    assert page.headers.get_list("x-content-type-options") == ["nosniff"]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_that_its_zone_moves_out_of_the_calendar_is_refused(time: str) -> None:
    with pytest.raises(ValueError, match="beyond the years 1 to 9999"):
        in_utc(datetime.fromisoformat(time))


def test_a_time_without_a_zone_is_one_of_utc() -> None:
    assert in_utc(datetime.fromisoformat("2026-03-01T09:00:00")) == datetime(2026, 3, 1, 9, tzinfo=UTC)
