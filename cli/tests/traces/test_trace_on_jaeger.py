"""`brandctl trace` on Jaeger itself: `JAEGER=/path/to/jaeger make test ARGS="-m real"` (2.19 or later)."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import httpx
import pytest
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Tracer, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from envelope import new_event_id

pytestmark = pytest.mark.real

CONFIGURATION = dedent("""
    service:
      extensions: [jaeger_storage, jaeger_query]
      pipelines: {{traces: {{receivers: [otlp], processors: [], exporters: [jaeger_storage_exporter]}}}}
      telemetry: {{metrics: {{level: none}}}}
    extensions:
      jaeger_storage: {{backends: {{memory: {{memory: {{max_traces: 5000}}}}}}}}
      jaeger_query:
        storage: {{traces: memory}}
        http: {{endpoint: "127.0.0.1:{query}"}}
        grpc: {{endpoint: "127.0.0.1:{grpc}"}}
    receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{otlp}"}}}}}}}}
    exporters: {{jaeger_storage_exporter: {{trace_storage: memory}}}}
""")


@dataclass(frozen=True)
class Jaeger:
    url: str
    otlp: str

    def service(self, name: str) -> TracerProvider:
        provider = TracerProvider(resource=Resource.create({"service.name": name, "host.name": "a-stack"}))
        exporter = OTLPSpanExporter(endpoint=f"{self.otlp}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=50_000))
        return provider


@pytest.fixture
async def jaeger(tmp_path: Path, free_port: Callable[[], int]) -> AsyncIterator[Jaeger]:
    binary = os.environ.get("JAEGER")
    if not binary:
        pytest.skip("JAEGER does not say where the binary is")
    query, otlp, grpc = free_port(), free_port(), free_port()
    configuration = tmp_path / "jaeger.yaml"
    configuration.write_text(CONFIGURATION.format(query=query, otlp=otlp, grpc=grpc))
    with (tmp_path / "jaeger.log").open("w") as log:
        process = await asyncio.create_subprocess_exec(
            binary, "--config", str(configuration), stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{query}"
    try:
        async with asyncio.timeout(60), httpx.AsyncClient(trust_env=False) as client:
            while process.returncode is None:
                try:
                    await client.get(f"{url}/api/v3/services")
                    break
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
        assert process.returncode is None, (tmp_path / "jaeger.log").read_text()
        yield Jaeger(url, f"http://127.0.0.1:{otlp}")
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def brandctl(folder: Path, *arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "brandctl", "trace", *arguments),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_healthy_chain_is_found_by_each_of_its_names_and_a_large_one_summed_up(
    jaeger: Jaeger, tmp_path: Path
) -> None:
    chain, cycle, article, many = (str(new_event_id()) for _ in range(4))
    providers = [jaeger.service(name) for name in ("orchestrator", "research")]
    orchestrator, research = (provider.get_tracer("test") for provider in providers)
    await asyncio.to_thread(_one_keyword, orchestrator, research, chain, cycle, article)
    await asyncio.to_thread(_many_keywords, orchestrator, research, many)
    for provider in providers:
        await asyncio.to_thread(provider.shutdown)

    options = ("--jaeger-url", jaeger.url)
    for names in (
        (chain,),
        (cycle,),
        (article,),
        (chain, "--keyword", "cold brew"),
        ("--keyword", "cold brew"),
    ):
        code, out, err = await brandctl(tmp_path, *names, *options)
        assert (code, err) == (0, ""), names
        assert "orchestrator POST /v1/brands/{slug}/research" in out
        assert "    └── research process commands:research-commands" in out

    code, out, err = await brandctl(tmp_path, many, *options)
    assert (code, err) == (0, "")
    assert "\n1,000 traces, 3,000 spans in " in out
    assert "; 1 with failed spans\n" in out
    assert "  keyword 7  " in out
    code, out, err = await brandctl(tmp_path, many, "--keyword", "keyword 7", *options)
    assert (code, out.count("research process"), err) == (0, 1, "")

    code, out, err = await brandctl(tmp_path, "nonsense", *options)
    assert (code, "OTEL_EXPORTER_OTLP_ENDPOINT" in err) == (1, True)
    # One host for all: waiting in a queue is not taken for clocks that differ.
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{jaeger.url}/api/traces?service=research&limit=5")
    spans = [span for trace in answer.json()["data"] for span in trace["spans"]]
    assert spans
    assert not [span["warnings"] for span in spans if span.get("warnings")]


def _one_keyword(orchestrator: Tracer, research: Tracer, chain: str, cycle: str, article: str) -> None:
    about = {"correlation_id": chain, "brand_engine.keyword": "cold brew"}
    request = orchestrator.start_span(
        "POST /v1/brands/{slug}/research",
        context=Context(),
        attributes={"correlation_id": chain, "brand_engine.cycle_id": cycle},
    )
    request.end()
    sent = orchestrator.start_span(
        "publish commands:research-commands",
        context=set_span_in_context(request, Context()),
        attributes=about | {"brand_engine.content_id": article},
    )
    sent.end()
    research.start_span(
        "process commands:research-commands", context=set_span_in_context(sent, Context()), attributes=about
    ).end()


def _many_keywords(orchestrator: Tracer, research: Tracer, chain: str) -> None:
    for number in range(1000):
        about = {"correlation_id": chain, "brand_engine.keyword": f"keyword {number}"}
        parent = orchestrator.start_span(
            "create commands:research-commands", context=Context(), attributes=about
        )
        parent.end()
        for tracer, name in ((orchestrator, "publish"), (research, "process")):
            above = set_span_in_context(parent, Context())
            parent = tracer.start_span(f"{name} commands:research-commands", context=above, attributes=about)
            if number == 7 and tracer is research:
                parent.record_exception(RuntimeError("what failed"))
                parent.set_status(Status(StatusCode.ERROR))
            parent.end()
