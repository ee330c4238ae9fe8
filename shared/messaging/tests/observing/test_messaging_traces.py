"""One trace per chain, through outbox, broker, retry and batch; every span knows its chain."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from opentelemetry import trace
from opentelemetry.context import Context as OtelContext
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from chassis.observing import chains, traces
from chassis.testing import eventually, running
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentPublish, ResearchCompleted, ResearchRequested
from messaging import Context, QueuePolicy, Record, Transaction, Unprocessable, on_batch, on_each
from messaging.headers import TRACEPARENT
from messaging.storage import outbox

ELSEWHERE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Recorded:
    """The spans that have ended, and a tracer as a library would have it."""

    def __init__(self, provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter
        self.library = provider.get_tracer("some.library")

    def ended(self, name: str = "") -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name.startswith(name)]

    def path(self, span: ReadableSpan) -> list[str]:
        by_id = {each.context.span_id: each for each in self.ended()}
        above = self.path(by_id[span.parent.span_id]) if span.parent else []
        return [*above, span.name]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """Tracing is on for this test."""
    exporter = InMemorySpanExporter()
    provider = traces.provider(SimpleSpanProcessor(exporter), "test")
    monkeypatch.setattr(traces, "tracer", lambda: provider.get_tracer("messaging"))
    monkeypatch.setattr(traces, "active", lambda: True)
    monkeypatch.setattr(chains, "_carried", set(chains._carried))
    yield Recorded(provider, exporter)
    provider.shutdown()


def request(chain: str, keyword: str = "k") -> DomainMessage:
    return DomainMessage(
        event_id=new_event_id(),
        type="research.requested",
        source="orchestrator",
        timestamp="2026-01-02T03:04:05Z",
        correlation_id=chain,
        payload=ResearchRequested(brand_slug="acme", keyword=keyword),
    )


def chain_of(span: ReadableSpan) -> object:
    return (span.attributes or {}).get("correlation_id")


def failed(span: ReadableSpan) -> bool:
    return span.status.status_code is StatusCode.ERROR


def trace_of(span: ReadableSpan) -> int:
    return span.context.trace_id


async def test_a_chain_is_one_trace_from_request_to_last_handler(world, recorded) -> None:
    async def research(message: DomainMessage, context: Context) -> Record:
        with recorded.library.start_as_current_span("search"):
            if context.attempt == 1:
                raise ConnectionError("first time at amqp://user:secret@host/")

        async def record(tx: Transaction) -> None:
            answer = ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword="k")
            tx.send(answer, caused_by=message, delay=timedelta(seconds=0.2))

        return record

    async def route(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        recorded.library.start_span("select", context=OtelContext()).end()

    first, second = world.service("research"), world.service("orchestrator")
    first.consume("research-commands", on_each(research, ResearchRequested))
    second.consume("orchestrator-events", on_batch(route, ResearchCompleted))
    async with running(first), running(second):
        with recorded.library.start_as_current_span("POST /research"):
            async with second.database.transaction() as tx:
                tx.send(ResearchRequested(brand_slug="acme", keyword="k"), correlation_id="chain-7")
        await eventually(lambda: recorded.ended("process brand-events"))

    (last,) = recorded.ended("process brand-events")
    assert recorded.path(last) == [
        "POST /research",
        "publish commands:research-commands",
        "process commands:research-commands",
        "publish returns:research-commands",
        "process returns:research-commands",
        "publish brand-events:research.completed",
        "process brand-events:research.completed:orchestrator-events",
    ]
    spans = recorded.ended()
    assert {chain_of(span) for span in spans} == {"chain-7"}
    assert [span.name for span in spans if failed(span) and span.name.startswith("process")] == [
        "process commands:research-commands"
    ]
    assert [recorded.path(span)[-2] for span in recorded.ended("search")] == [
        "process commands:research-commands",
        "process returns:research-commands",
    ]
    assert [recorded.path(span)[-2] for span in recorded.ended("commit orchestrator-events")] == [last.name]
    (publish,) = recorded.ended("publish brand-events")
    assert dict(publish.attributes or {}) == {
        "messaging.system": "rabbitmq",
        "messaging.operation.name": "publish",
        "messaging.operation.type": "send",
        "messaging.destination.name": "brand-events:research.completed",
        "messaging.rabbitmq.destination.routing_key": "research.completed",
        "messaging.message.id": (last.attributes or {})["messaging.message.id"],
        "messaging.message.conversation_id": "chain-7",
        "messaging.message.body.size": (last.attributes or {})["messaging.message.body.size"],
        "server.address": urlsplit(world.rabbitmq_url).hostname,
        "server.port": urlsplit(world.rabbitmq_url).port,
        "correlation_id": "chain-7",
        "brand_engine.message.type": "research.completed",
        "brand_engine.brand_slug": "acme",
        "brand_engine.keyword": "k",
    }
    failure, *_ = [span for span in spans if failed(span) and span.name.startswith("process")]
    (event,) = failure.events
    assert event.name == "exception"
    assert (event.attributes or {})["exception.message"] == "first time at amqp://user:***@host/"
    assert "in research\n" in str((event.attributes or {})["exception.stacktrace"])
    assert "secret" not in str(failure.to_json())


async def test_a_batch_of_several_chains_shows_in_the_trace_of_each(world, recorded) -> None:
    async def handle(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        assert len(messages) == 3
        assert not trace.get_current_span().is_recording()  # it could only be one of them

    service = world.service()
    policy = QueuePolicy(max_batch_size=3, max_batch_timeout=20.0)
    service.consume("research-commands", on_batch(handle, ResearchRequested), policy=policy)
    async with running(service):
        for message in (request("a"), request("b"), request("a", "another")):
            trace_id = f"{1 if message.correlation_id == 'a' else 2:032x}"
            await world.send(message, headers={TRACEPARENT: f"00-{trace_id}-b7ad6b7169203331-01"})
        await eventually(lambda: len(recorded.ended("commit")) == 2)
        await eventually(lambda: len(recorded.ended("process")) == 3)

    first, other, second = recorded.ended("process")
    commits = {chain_of(span): span for span in recorded.ended("commit")}
    assert commits["a"].parent.span_id == first.context.span_id
    assert [link.context.span_id for link in commits["a"].links] == [second.context.span_id]
    assert commits["b"].parent.span_id == other.context.span_id
    assert not commits["b"].links
    assert {span.attributes["messaging.batch.message_count"] for span in commits.values()} == {3}
    # The first is work for two keywords, so it tells of none.
    subject = ("brand_engine.brand_slug", "brand_engine.keyword")
    assert [commits["a"].attributes.get(name) for name in subject] == ["acme", None]
    assert [commits["b"].attributes.get(name) for name in subject] == ["acme", "k"]


async def test_what_a_message_is_about_is_told_by_all_that_follows_from_it(world, recorded) -> None:
    content_id = new_event_id()

    async def route(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        for message in messages:
            tx.send(
                ContentPublish(brand_slug="acme", content_id=content_id, target="site"), caused_by=message
            )

    async def publish(message: DomainMessage, context: Context) -> None:
        with recorded.library.start_as_current_span("render"):
            pass
        raise Unprocessable("no such target")

    first, second = world.service("orchestrator"), world.service("publisher")
    first.consume("orchestrator-events", on_batch(route, ResearchCompleted))
    second.consume("publisher-commands", on_each(publish, ContentPublish))
    async with running(first), running(second), running(world.service("research")) as research:
        with recorded.library.start_as_current_span("a handler"):
            async with research.database.transaction() as tx:
                keyword = "cold brew, häuslich"
                tx.send(ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword=keyword))
        await eventually(lambda: recorded.ended("publish dead-letters"))
    letter = await world.broker.take("publisher-commands-dlq")
    # The payload of the second names no keyword; the message that caused it did.
    about = {"brand_engine.keyword": "cold brew, häuslich", "brand_engine.brand_slug": "acme"}
    both = about | {"brand_engine.content_id": str(content_id)}
    for name, told in {
        "publish brand-events": about,
        "process brand-events": about,
        "publish commands:publisher-commands": both,
        "process commands:publisher-commands": both,
        "render": both,
        "publish dead-letters": both,
    }.items():
        (span,) = recorded.ended(name)
        attributes = dict(span.attributes or {})
        assert {key: attributes.get(key) for key in both} == {**dict.fromkeys(both), **told}, name
    assert "cold+brew%2C" in letter.headers["baggage"]


async def test_one_of_very_many_begins_a_trace_of_its_own_linked_to_the_request(world, recorded) -> None:
    async def research(message: DomainMessage, context: Context) -> None:
        return None

    service = world.service("research")
    service.consume("research-commands", on_each(research, ResearchRequested))
    async with running(service):
        with recorded.library.start_as_current_span("POST /research") as posted:
            async with service.database.transaction() as tx:
                for keyword in ("a", "b"):
                    payload = ResearchRequested(brand_slug="acme", keyword=keyword)
                    tx.send(payload, correlation_id="chain-7", own_trace=True)
        await eventually(lambda: len(recorded.ended("commit")) == 2)
    keywords = [dict(span.attributes or {})["brand_engine.keyword"] for span in recorded.ended("create")]
    assert keywords == ["a", "b"]
    assert {link.context.span_id for span in recorded.ended("create") for link in span.links} == {
        posted.get_span_context().span_id
    }
    assert [recorded.path(span) for span in recorded.ended("process")] == [
        [
            "create commands:research-commands",
            "publish commands:research-commands",
            "process commands:research-commands",
        ]
    ] * 2
    assert len({trace_of(span) for span in recorded.ended()}) == 3
    assert {chain_of(span) for span in recorded.ended()} == {"chain-7"}


async def test_a_dead_letter_stays_in_its_trace_though_nobody_could_read_the_message(world, recorded) -> None:
    service = world.service()

    async def handle(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        raise AssertionError

    service.consume("research-commands", on_batch(handle, ResearchRequested))
    body = (
        b'{"event_id": "%s", "type": "research.requested", "source": "s", "timestamp": "2026-01-02T03:04:05Z",'
        % (str(uuid4()).encode())
    )
    async with running(service):
        headers = {TRACEPARENT: ELSEWHERE}
        await world.broker.publish("commands", "research-commands", body + b'"payload": {}}', headers=headers)
        letter = await world.broker.take("research-commands-dlq")
        await eventually(lambda: recorded.ended("publish dead-letters"))

    (publish,) = recorded.ended("publish dead-letters:research-commands")
    assert (
        letter.headers[TRACEPARENT] == traces.headers_of(trace.NonRecordingSpan(publish.context))[TRACEPARENT]
    )
    assert f"{trace_of(publish):032x}" == ELSEWHERE.split("-")[1]
    (process,) = recorded.ended("process")
    assert process.attributes["error.type"] == "ValidationError"
    # It named no chain, so it is one by itself.
    assert chain_of(process) == chain_of(publish) == process.attributes["messaging.message.id"]


async def test_a_message_that_cannot_be_published_says_so_in_its_span(world, recorded) -> None:
    service = world.service()
    async with running(service), service.database.transaction() as tx:
        row = outbox.OutboxRow("commands", "nobody", uuid4(), "research.requested", "chain-8", b"{}")
        tx.outgoing.append(row)
    await eventually(lambda: recorded.ended("publish commands:nobody"))
    span = recorded.ended("publish commands:nobody")[0]
    assert (span.attributes["error.type"], failed(span)) == ("UnroutableError", True)
    assert chain_of(span) == "chain-8"


async def test_without_tracing_a_trace_of_others_is_passed_on(world) -> None:
    service = world.service()

    async def research(message: DomainMessage, context: Context) -> Record:
        async def record(tx: Transaction) -> None:
            answer = ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword="k")
            tx.send(answer, caused_by=message)

        return record

    service.consume("research-commands", on_each(research, ResearchRequested))
    async with running(service):
        await world.send(request("chain-9"), headers={TRACEPARENT: ELSEWHERE})
        answer = await world.broker.take("orchestrator-events")
    assert not traces.active()
    assert answer.headers[TRACEPARENT] == ELSEWHERE


async def test_without_tracing_its_machinery_is_not_even_loaded() -> None:
    code = "import sys, messaging, chassis.http.spans; print([n for n in sys.modules if n.startswith('opentelemetry.sdk')])"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    assert out.decode().strip() == "[]"


def test_the_key_of_a_collector_may_be_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `authorization`, the header that a collector asks for; where spans have one of their own, that one."""
    for name, text in (
        ("", "authorization=Bearer%20of-all\n"),
        ("_TRACES", "authorization=Bearer%20of-spans\n"),
    ):
        (tmp_path / f"headers{name}").write_text(text)
    made: list[TracerProvider] = []
    monkeypatch.setattr(trace, "set_tracer_provider", made.append)
    sent: list[str | None] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            sent.append(self.headers["authorization"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        for name in ("", "_TRACES"):
            monkeypatch.setenv(f"OTEL_EXPORTER_OTLP{name}_HEADERS_FILE", str(tmp_path / f"headers{name}"))
            traces.configure("test", f"http://127.0.0.1:{collector.server_port}")
            made[-1].get_tracer("test").start_span("one").end()
            made[-1].shutdown()
        collector.shutdown()
    assert sent == ["Bearer of-all", "Bearer of-spans"]


@pytest.mark.extended
def test_a_receiver_that_does_not_answer_holds_up_no_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "FLUSH_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        exporter = OTLPSpanExporter(endpoint=address, timeout=6)
        provider = traces.provider(BatchSpanProcessor(exporter), "test")
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
        provider.get_tracer("test").start_span("last words").end()
        traces.flush()
        (sending,) = (thread for thread in threading.enumerate() if thread.name == "last spans")
    # It still waits for an answer, and nobody waits for it.
    sending.join()
