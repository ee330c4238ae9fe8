"""Spans of HTTP requests: their number, attributes and parents."""

import asyncio
from collections.abc import Iterator, Sequence

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, Tracer
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chassis.coalescing import RequestCoalescer
from chassis.http.spans import TracedApi, client_span
from chassis.observing import chains, traces

ELSEWHERE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Recorded:
    def __init__(self, tracer: Tracer, exporter: InMemorySpanExporter) -> None:
        self.tracer = tracer
        self._exporter = exporter

    def ended(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    exporter = InMemorySpanExporter()
    provider = traces.provider(SimpleSpanProcessor(exporter), "test")
    tracer = provider.get_tracer("messaging")
    monkeypatch.setattr(traces, "tracer", lambda: tracer)
    yield Recorded(tracer, exporter)
    provider.shutdown()


async def thing(request: Request) -> Response:
    if request.path_params["id"] == "missing":
        raise HTTPException(404)
    if request.path_params["id"] == "broken":
        raise RuntimeError("broken")
    if request.path_params["id"] == "new":
        chains.name_chain("chain-1")
    return JSONResponse(traces.current_headers())


@pytest.fixture
async def api() -> Iterator[httpx.AsyncClient]:
    app = Starlette(
        routes=[
            Route("/v1/things/{id}", thing, methods=["GET", "POST", "PUT"]),
            Route("/things/{id}", thing, methods=["GET", "POST"]),
        ]
    )
    transport = httpx.ASGITransport(TracedApi(app), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://api.test:8010") as client:
        yield client


async def test_a_request_that_starts_work_begins_a_trace(api, recorded) -> None:
    await api.post("/v1/things/new")
    (span,) = recorded.ended()
    assert (span.name, span.kind.name, span.parent) == ("POST /v1/things/{id}", "SERVER", None)
    assert dict(span.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/things/{id}",
        "http.response.status_code": 200,
        "url.path": "/v1/things/new",
        "url.scheme": "http",
        "server.address": "api.test",
        "server.port": 8010,
        "correlation_id": "chain-1",
    }


async def test_a_read_within_a_chain_belongs_to_its_trace(api, recorded) -> None:
    with (
        recorded.tracer.start_as_current_span("handler", attributes={"correlation_id": "chain ü"}),
        client_span("GET", "http://api.test:8010/v1/things/7") as exchange,
    ):
        exchange.answered((await api.get("/v1/things/7", headers=exchange.headers)).status_code)
    server, client, handler = recorded.ended()
    assert (client.name, client.kind.name) == ("GET", "CLIENT")
    assert server.parent.span_id == client.context.span_id
    assert client.parent.span_id == handler.context.span_id
    assert client.attributes["url.full"] == "http://api.test:8010/v1/things/7"
    assert {span.attributes["correlation_id"] for span in recorded.ended()} == {"chain ü"}


@pytest.mark.parametrize("path", ["/v1/things/7", "/things/7"])
async def test_other_reads_and_public_pages_are_not_traced(api, recorded, path: str) -> None:
    headers = {} if path.startswith("/v1") else {"traceparent": ELSEWHERE}
    assert (await api.get(path, headers=headers)).json() == {}
    assert (await api.put("/v1/things/7")).json() == {}
    assert not recorded.ended()


async def test_a_refused_request_is_a_chain_of_its_own_and_no_error_of_ours(api, recorded) -> None:
    await api.post("/v1/things/missing")
    (span,) = recorded.ended()
    assert span.attributes["correlation_id"] == f"{span.context.trace_id:032x}"
    assert span.attributes["http.response.status_code"] == 404
    assert "error.type" not in span.attributes


async def test_a_broken_route_is_an_error_with_its_kind(api, recorded) -> None:
    await api.post("/v1/things/broken")
    (span,) = recorded.ended()
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes["error.type"], span.attributes["http.response.status_code"]) == (
        "RuntimeError",
        500,
    )


async def test_an_answer_that_refuses_is_the_error_of_the_request_however_the_caller_takes_it(
    recorded,
) -> None:
    def ask() -> None:
        with client_span("GET", "https://api.test/v1/things/7") as exchange:
            exchange.answered(503)
            raise LookupError

    with recorded.tracer.start_as_current_span("handler"), pytest.raises(LookupError):
        ask()
    client, _ = recorded.ended()
    assert client.attributes["error.type"] == "503"
    assert client.attributes["server.port"] == 443


async def test_a_request_for_several_is_linked_to_all_of_them(recorded) -> None:
    first_is_under_way, let_it_go = asyncio.Event(), asyncio.Event()

    async def ask(keys: Sequence[int]) -> dict[int, int]:
        with client_span("GET", f"http://api.test/v1/things?id={keys}"):
            first_is_under_way.set()
            await let_it_go.wait()
            return {key: key for key in keys}

    coalescer: RequestCoalescer[int, int] = RequestCoalescer(ask, limit=5)

    async def handle(key: int) -> None:
        with recorded.tracer.start_as_current_span(f"handler {key}"):
            await coalescer.get(key)

    tasks = [asyncio.create_task(handle(1))]
    await first_is_under_way.wait()
    tasks += [asyncio.create_task(handle(key)) for key in (2, 3)]
    await asyncio.sleep(0)
    let_it_go.set()
    await asyncio.gather(*tasks)
    spans = {span.name: span for span in recorded.ended() if span.kind.name != "CLIENT"}
    alone, together = [span for span in recorded.ended() if span.kind.name == "CLIENT"]
    assert (alone.parent.span_id, list(alone.links)) == (spans["handler 1"].context.span_id, [])
    assert together.parent.span_id == spans["handler 2"].context.span_id
    assert [link.context.span_id for link in together.links] == [spans["handler 3"].context.span_id]
