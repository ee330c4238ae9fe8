"""`brandctl trace` against something that answers as Jaeger does, and against things that do not."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import httpx
import pytest

from chassis.testing.spans import ReceivedSpan, SpanReceiver
from envelope import new_event_id
from tests.fixtures.commands.brandctl import CommandResult, Operator

CHAIN = str(new_event_id())
CYCLE = str(new_event_id())
ARTICLE = str(new_event_id())
BEGAN = 1_800_000_000_000_000_000
TRACE = "0af7651916cd43dd8448eb211c80319c"


def span(
    number: int, parent: int | None, service: str, name: str, at_ms: float, ms: float, **more: Any
) -> ReceivedSpan:
    attributes = {"correlation_id": CHAIN} | more.pop("attributes", {})
    return ReceivedSpan(
        service=service,
        name=name,
        kind="CONSUMER",
        trace_id=more.pop("trace_id", TRACE),
        span_id=f"{number:016x}",
        parent_id="" if parent is None else f"{parent:016x}",
        attributes=attributes,
        links=(),
        failed="error.type" in attributes,
        began=BEGAN + round(at_ms * 1e6),
        ended=BEGAN + round((at_ms + ms) * 1e6),
    )


def about(keyword: str, **more: str) -> dict[str, str]:
    return {"brand_engine.keyword": keyword, **more}


REQUEST = "POST /v1/brands/{slug}/research"
ONE_CHAIN = (
    span(1, None, "orchestrator", REQUEST, 0, 12.3, attributes={"brand_engine.cycle_id": CYCLE}),
    span(2, 1, "orchestrator", "publish commands:research-commands", 15, 4.0, attributes=about("moka pot")),
    span(
        *(3, 2, "research", "process commands:research-commands", 30, 1500.0),
        attributes=about("moka pot", **{"error.type": "Unprocess\x1b[31m\x9b31mable"}),
    ),
    span(4, 1, "orchestrator", "publish commands:research-commands", 16, 4.0, attributes=about("cold brew")),
    span(5, 4, "research", "process commands:research-commands", 40, 20.0, attributes=about("cold brew")),
    span(6, 5, "research", "commit research-commands", 41, 2.0),
    span(
        *(7, 5, "orchestrator", "publish commands:publisher-commands", 90, 20.0),
        attributes=about("cold brew", **{"brand_engine.content_id": ARTICLE}),
    ),
)


def in_base64(answer: bytes) -> bytes:
    """As plain protobuf has it in JSON."""
    document = json.loads(answer)
    for group in document["result"]["resourceSpans"]:
        for each in group["scopeSpans"][0]["spans"]:
            for name in {"traceId", "spanId", "parentSpanId"} & each.keys():
                each[name] = base64.b64encode(bytes.fromhex(each[name])).decode()
    return json.dumps(document).encode()


@pytest.fixture
def jaeger() -> Iterator[SpanReceiver]:
    with SpanReceiver.running() as receiver:
        receiver.spans += ONE_CHAIN
        yield receiver


@dataclass
class Server:
    """Something at Jaeger's address; or something before it, that passes on what it answers."""

    url: str = ""
    status: int = 200
    media_type: str = "application/json"
    body: bytes = b""
    before: str | None = None
    change: Callable[[bytes], bytes] = bytes
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        parts = urlsplit(path)
        self.asked.append((parts.path, parse_qs(parts.query)))
        if self.before is None:
            return self.status, self.media_type, self.body
        answer = httpx.get(f"{self.before}{path}", trust_env=False)
        body = self.change(answer.content) if parts.path == "/api/v3/traces" else answer.content
        return answer.status_code, answer.headers["content-type"], body


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, media_type, body = server.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    http.shutdown()
    http.server_close()
    thread.join()


async def brandctl(folder: Path, *arguments: str, **variables: str) -> CommandResult:
    return await Operator(folder, variables, "trace")(*arguments)


@pytest.mark.parametrize("form", [bytes, in_base64], ids=["hexadecimal", "base64"])
async def test_a_chain_is_shown_as_a_tree_with_durations_keywords_errors_and_links(
    jaeger: SpanReceiver, server: Server, tmp_path: Path, form: Callable[[bytes], bytes]
) -> None:
    server.before, server.change = jaeger.url, form
    code, out, err = await brandctl(tmp_path, CHAIN, JAEGER_URL=server.url)
    assert (code, err) == (0, "")
    search, _, link, *lines = out.splitlines()
    assert search.startswith(f"{server.url}/search?service=orchestrator&tags=%7B%22correlation_id%22")
    assert link == f"{server.url}/trace/{TRACE}"
    assert [line.rstrip() for line in lines] == [
        "orchestrator POST /v1/brands/{slug}/research  12.3 ms  +0.0 ms",
        "├── orchestrator publish commands:research-commands  4.0 ms  +15.0 ms  moka pot",
        "│   └── research process commands:research-commands  1.50 s  +30.0 ms  Unprocess\ufffd[31m\ufffd31mable",
        "└── orchestrator publish commands:research-commands  4.0 ms  +16.0 ms  cold brew",
        "    └── research process commands:research-commands  20.0 ms  +40.0 ms",
        "        ├── research commit research-commands  2.0 ms  +41.0 ms",
        "        └── orchestrator publish commands:publisher-commands  20.0 ms  +90.0 ms",
    ]


async def test_scripts_have_its_traces_and_spans(jaeger: SpanReceiver, tmp_path: Path) -> None:
    code, out, err = await brandctl(tmp_path, CHAIN, "--keyword", "moka pot", "--json", JAEGER_URL=jaeger.url)
    told = json.loads(out)

    assert (code, err) == (0, "")
    assert [each["link"] for each in told["traces"]] == [f"{jaeger.url}/trace/{TRACE}"]
    assert [each["service"] for each in told["spans"]] == ["orchestrator", "orchestrator", "research"]
    assert (await brandctl(tmp_path, "order-7", "--json", JAEGER_URL=jaeger.url))[:2] == (1, "")


async def test_jaeger_is_asked_from_when_the_id_was_made_and_for_no_more_than_it_takes(
    jaeger: SpanReceiver, server: Server, tmp_path: Path
) -> None:
    server.before = jaeger.url
    await brandctl(tmp_path, CHAIN, JAEGER_URL=server.url)
    # Where chains begin, and where replays do: they have a trace of their own.
    assert [(path, query["query.serviceName"]) for path, query in server.asked] == [
        ("/api/v3/trace-summaries", ["orchestrator"]),
        ("/api/v3/trace-summaries", ["monitor"]),
        ("/api/v3/traces", ["orchestrator"]),
    ]
    made = datetime.fromtimestamp((UUID(CHAIN).int >> 80) / 1000, UTC)  # the moment that the id itself tells
    for _, query in server.asked:
        assert json.loads(query["query.attributes"][0]) == {"correlation_id": CHAIN}
        since = datetime.fromisoformat(query["query.startTimeMin"][0])
        until = datetime.fromisoformat(query["query.startTimeMax"][0])
        assert 0 <= (made - since).total_seconds() < 1800
        assert until > datetime.now(UTC)


async def test_a_chain_that_began_elsewhere_is_found_too(jaeger: SpanReceiver, tmp_path: Path) -> None:
    jaeger.spans[:] = [
        span(1, None, "social", "process commands:social-commands", 0, 1, attributes={"correlation_id": "x"})
    ]
    code, out, err = await brandctl(tmp_path, "x", JAEGER_URL=jaeger.url)
    assert (code, err) == (0, "")
    assert "social process" in out


@pytest.mark.extended
@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((CYCLE,), {"moka pot", "cold brew"}),
        ((ARTICLE,), {"cold brew"}),
        ((CHAIN, "--keyword", "cold brew"), {"cold brew"}),
        (("--keyword", "moka pot"), {"moka pot"}),
        ((CYCLE, "--keyword", "moka pot"), {"moka pot"}),
    ],
)
async def test_a_cycle_an_article_or_a_keyword_is_found_by_its_name(
    jaeger: SpanReceiver, tmp_path: Path, arguments: tuple[str, ...], keywords: set[str]
) -> None:
    code, out, err = await brandctl(tmp_path, *arguments, JAEGER_URL=jaeger.url)
    assert (code, err) == (0, "")
    assert f"orchestrator {REQUEST}  12.3 ms" in out
    assert {keyword for keyword in ("moka pot", "cold brew") if f"  {keyword}\n" in out} == keywords
    assert ("commit research-commands" in out) == ("cold brew" in keywords)


async def test_a_thousand_keywords_are_summed_up_with_what_failed_and_what_was_slow(
    jaeger: SpanReceiver, server: Server, tmp_path: Path
) -> None:
    jaeger.spans[:] = [
        span(
            *(number, None, "orchestrator", "create commands:research-commands", number, number),
            trace_id=f"{number // 3:032x}",
            attributes=about(f"keyword {number // 3}")
            | ({"error.type": "RetryLater"} if number == 1500 else {}),
        )
        for number in range(1, 3000)
    ]
    server.before = jaeger.url
    code, out, err = await brandctl(
        tmp_path, CHAIN, JAEGER_URL=server.url, JAEGER_PUBLIC_URL="https://traces.example.org/"
    )
    assert (code, err) == (0, "")
    assert "\n1,000 traces, 2,999 spans in 6.00 s; 1 with failed spans\n" in out
    assert f"  keyword 500  https://traces.example.org/trace/{500:032x}\n" in out
    assert f"  keyword 999  https://traces.example.org/trace/{999:032x}\n" in out
    assert "--keyword" in out
    # Not all of it was sent: that alone would take seconds.
    assert "/api/v3/traces" not in {path for path, _ in server.asked}
    code, out, err = await brandctl(tmp_path, CHAIN, "--keyword", "keyword 7", JAEGER_URL=server.url)
    assert (code, err, out.count("orchestrator create")) == (0, "", 3)


async def test_after_make_up_jaeger_is_found_where_the_settings_say(
    jaeger: SpanReceiver, tmp_path: Path
) -> None:
    port = urlsplit(jaeger.url).port
    (tmp_path / ".env").write_text(f"# JAEGER_PORT=1\nJAEGER_PORT={port}\n")
    code, out, err = await brandctl(tmp_path, CHAIN)
    assert (code, err) == (0, "")
    assert f"{jaeger.url}/trace/" in out


@pytest.mark.parametrize(
    ("status", "media_type", "body"),
    [
        (404, "text/plain; charset=utf-8", b'{"error":{"httpCode":404,"message":"No traces found"}}\n'),
        (200, "application/json", b"{}"),
    ],
)
async def test_nothing_found_is_said_with_what_may_be_wrong(
    server: Server, tmp_path: Path, status: int, media_type: str, body: bytes
) -> None:
    server.status, server.media_type, server.body = status, media_type, body
    code, out, err = await brandctl(tmp_path, "order-7", JAEGER_URL=server.url)
    assert code == 1
    assert "/search?" in out
    assert "order-7" in err
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in err


@pytest.mark.parametrize(
    ("status", "media_type", "body", "said"),
    [
        (200, "text/html", b"<html>an older Jaeger's page</html>", "2.19 or later"),
        (400, "application/json", b'{"error": "malformed"}', "malformed"),
        (404, "text/plain", b"404 page not found", "404"),
        (404, "application/json", b'{"detail": "Not Found\x9b2J"}', "Not Found\ufffd2J"),
    ],
)
async def test_something_else_at_that_address_is_named_and_the_link_still_printed(
    server: Server, tmp_path: Path, status: int, media_type: str, body: bytes, said: str
) -> None:
    server.status, server.media_type, server.body = status, media_type, body
    code, out, err = await brandctl(tmp_path, CHAIN, JAEGER_URL=server.url)
    assert code == 1
    assert "/search?" in out
    assert said in err
    assert "Traceback" not in err


async def test_no_jaeger_is_said_and_the_link_still_printed(
    tmp_path: Path, free_port: Callable[[], int]
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    code, out, err = await brandctl(tmp_path, CHAIN, JAEGER_URL=url)
    assert code == 1
    assert out.startswith(f"{url}/search?")
    assert err.startswith(f"{url} does not answer")
    assert "brandctl keywords show" in err

    code, _, err = await brandctl(tmp_path, "--keyword", "cold brew", JAEGER_URL=url)
    assert code == 1
    assert "brandctl keywords show 'cold brew'" in err
