"""One trace per chain, through outbox, broker, retry and batch."""

import asyncio
import json
import os
import subprocess
import sys

CHAIN = """
import asyncio, json, os, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from uuid import uuid4
from envelope.payloads import ResearchCompleted, ResearchRequested
from messaging import Service, ServiceSettings, on_batch, on_each
from messaging.testing import eventually, running

attempts = []

async def research(message, context):
    attempts.append(context.attempt)
    if context.attempt == 1:
        raise ConnectionError("first time")
    async def record(tx):
        tx.send(ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword="k"), caused_by=message)
    return record

seen = []

async def route(messages, tx):
    seen.extend(messages)

async def main():
    first = Service("research", ServiceSettings(http_port=0))
    first.consume("research-commands", on_each(research, ResearchRequested))
    second = Service("orchestrator", ServiceSettings(http_port=0))
    second.consume("brand-events", on_batch(route, ResearchCompleted))
    async with running(first), running(second):
        with trace.get_tracer("test").start_as_current_span("POST /research"):
            async with first.database.transaction() as tx:
                tx.send(ResearchRequested(brand_slug="acme", keyword="k"), correlation_id="chain-7")
        await eventually(lambda: seen)
    await eventually(lambda: any(s.name == "process brand-events" for s in exporter.get_finished_spans()))
    print(json.dumps([
        {
            "name": span.name, "kind": span.kind.name, "id": span.context.span_id, "trace": span.context.trace_id,
            "parent": span.parent.span_id if span.parent else None, "attributes": dict(span.attributes),
            "error": span.status.status_code.name == "ERROR",
            "links": [link.context.span_id for link in span.links],
        }
        for span in exporter.get_finished_spans()
    ]))

asyncio.run(main())
"""


async def test_a_chain_is_one_trace_from_request_to_last_handler(world) -> None:
    environment = {
        **os.environ,
        "RABBITMQ_URL": world.rabbitmq_url,
        "DATABASE_URL": world.database_url,
        "SERVICE_KEY": "a-key-for-tests-only",
        "RETRY_BASE_SECONDS": "0.1",
    }
    # A process of its own: a tracer provider can be set once per process.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHAIN, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    spans = json.loads(out.splitlines()[-1])
    chain = [span for span in spans if not span["name"].startswith("commit")]
    by_id = {span["id"]: span for span in spans}

    def path(span: dict) -> list[str]:
        return [*path(by_id[span["parent"]]), span["name"]] if span["parent"] in by_id else [span["name"]]

    (last,) = [span for span in chain if span["name"] == "process brand-events"]
    assert path(last) == [
        "POST /research",
        "publish commands",
        "process research-commands",
        "publish returns",
        "process research-commands",
        "publish brand-events",
        "process brand-events",
    ]
    assert len({span["trace"] for span in chain}) == 1
    assert [span["error"] for span in chain if span["name"] == "process research-commands"] == [True, False]
    assert all(span["attributes"].get("correlation_id") == "chain-7" for span in chain if span["parent"])
    (commit,) = [span for span in spans if span["name"] == "commit brand-events"]
    assert commit["links"] == [last["id"]]
