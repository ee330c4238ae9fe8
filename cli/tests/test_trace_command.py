"""`brandctl trace` against something that answers as Jaeger does, and against things that do not."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from envelope import new_event_id

CHAIN = str(new_event_id())
CYCLE = str(new_event_id())
BEGAN = 1_800_000_000_000_000_000
TRACE = "0af7651916cd43dd8448eb211c80319c"
KEY = "test-service-key-0123456789"


def group(service: str, *spans: dict[str, Any]) -> dict[str, Any]:
    attributes = [{"key": "service.name", "value": {"stringValue": service}}]
    return {
        "resource": {"attributes": attributes},
        "scopeSpans": [{"scope": {"name": "messaging"}, "spans": spans}],
    }


def span(number: int, parent: int | None, name: str, at_ms: int, ms: float, **more: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent:016x}"}),
        "name": name,
        "kind": 4,
        "startTimeUnixNano": str(BEGAN + at_ms * 1_000_000),
        "endTimeUnixNano": str(BEGAN + round((at_ms + ms) * 1e6)),
        **more,
    }


FAILED = {
    "status": {"code": 2, "message": "why"},
    "attributes": [{"key": "error.type", "value": {"stringValue": "Unprocess\x1b[31mable"}}],
}
GROUPS = [
    group("research", span(3, 2, "process commands:research-commands", 30, 1500.0, **FAILED)),
    group(
        "orchestrator",
        span(1, None, "POST /v1/brands/{slug}/research", 0, 12.3),
        span(2, 1, "publish commands:research-commands", 15, 4.0),
    ),
]


def in_base64(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As plain protobuf has it in JSON."""
    document = json.loads(json.dumps(groups))
    for one in document:
        for each in one["scopeSpans"][0]["spans"]:
            for name in {"traceId", "spanId", "parentSpanId"} & each.keys():
                each[name] = base64.b64encode(bytes.fromhex(each[name])).decode()
    return document


@dataclass
class Server:
    """Jaeger and the orchestrator in one."""

    url: str = ""
    status: int = 200
    media_type: str = "application/json"
    body: bytes = json.dumps({"result": {"resourceSpans": GROUPS}}).encode()
    asked: list[dict[str, list[str]]] = field(default_factory=list)

    def answer(self, path: str, key: str | None) -> tuple[int, str, bytes]:
        parts = urlsplit(path)
        if parts.path.startswith("/v1/cycles/"):
            known = key == KEY and parts.path.endswith(CYCLE)
            return (200 if known else 404), "application/json", json.dumps({"correlation_id": CHAIN}).encode()
        assert parts.path == "/api/v3/traces"
        self.asked.append(parse_qs(parts.query))
        return self.status, self.media_type, self.body


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, media_type, body = server.answer(self.path, self.headers.get("X-Service-Key"))
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


async def brandctl(folder: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "brandctl", "trace", *arguments),
        cwd=folder,
        env=inherited | {"TERM": "dumb"} | variables,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("form", [list, in_base64], ids=["hexadecimal", "base64"])
async def test_a_chain_is_shown_as_a_tree_with_durations_errors_and_links(
    server: Server, tmp_path: Path, form: Callable[..., Any]
) -> None:
    server.body = json.dumps({"result": {"resourceSpans": form(GROUPS)}}).encode()
    code, out, err = await brandctl(tmp_path, CHAIN, JAEGER_URL=server.url)
    assert (code, err) == (0, "")
    search, _, link, *lines = out.splitlines()
    assert search.startswith(f"{server.url}/search?service=orchestrator&tags=%7B%22correlation_id%22")
    assert link == f"{server.url}/trace/{TRACE}"
    assert [line.rstrip() for line in lines] == [
        "orchestrator POST /v1/brands/{slug}/research  12.3 ms  +0.0 ms",
        "└── orchestrator publish commands:research-commands  4.0 ms  +15.0 ms",
        "    └── research process commands:research-commands  1.50 s  +30.0 ms  Unprocess\ufffd[31mable",
    ]


async def test_jaeger_is_asked_for_every_service_and_from_when_the_id_was_made(
    server: Server, tmp_path: Path
) -> None:
    await brandctl(tmp_path, CHAIN, JAEGER_URL=server.url)
    assert {each["query.serviceName"][0] for each in server.asked} == {
        "orchestrator",
        "research",
        "publisher",
        "social",
        "monitor",
    }
    (query, *_) = server.asked
    assert json.loads(query["query.attributes"][0]) == {"correlation_id": CHAIN}
    since = datetime.fromisoformat(query["query.startTimeMin"][0])
    until = datetime.fromisoformat(query["query.startTimeMax"][0])
    assert 0 < (datetime.now(UTC) - since).total_seconds() < 1800
    assert until > datetime.now(UTC)


async def test_a_cycle_is_turned_into_its_chain(server: Server, tmp_path: Path) -> None:
    code, _, err = await brandctl(
        tmp_path, CYCLE, JAEGER_URL=server.url, ORCHESTRATOR_URL=server.url, SERVICE_KEY=KEY
    )
    assert (code, err) == (0, "")
    assert json.loads(server.asked[0]["query.attributes"][0]) == {"correlation_id": CHAIN}


async def test_beside_a_local_run_the_orchestrator_is_found_by_itself(server: Server, tmp_path: Path) -> None:
    local = tmp_path / ".local"
    local.mkdir()
    (local / "endpoints.json").write_text(
        json.dumps({"orchestrator_url": server.url, "service_key_file": "key"})
    )
    (local / "key").write_text(KEY)
    assert (await brandctl(tmp_path, CYCLE, "--jaeger-url", server.url))[0] == 0
    assert json.loads(server.asked[0]["query.attributes"][0]) == {"correlation_id": CHAIN}


@pytest.mark.parametrize(
    ("status", "media_type", "body"),
    [
        (404, "application/json", b'{"error": {"message": "No traces found"}}'),
        (200, "application/json", b'{"result": {}}'),
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
