"""A keyword's way through the five real services, with a retry and a replayed dead letter, is one trace."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from brandctl.local import services
from chassis.http import server
from chassis.testing import eventually
from chassis.testing.spans import ReceivedSpan, SpanReceiver

ROOT = Path(__file__).parents[2]
KEY = "a-key-for-tests-only"
REFUSED_ONCE = 503
"""With it, a reader tries again later."""
FINAL = 400
"""With it, a reader gives up."""

TOPICS = (
    "grind size", "water temperature", "cold brew", "espresso", "moka pot", "french press", "coffee filters", "brew ratio", "extraction", "roast",
    "pour-over", "milk",
)  # fmt: skip
WRITTEN_AT_A_TIME = 16
"""Articles of one brand."""

THE_CHAIN = """
    orchestrator POST /v1/brands/{slug}/research
      orchestrator publish commands:research-commands
        research process commands:research-commands
          research commit research-commands
          research publish brand-events:research.completed
            orchestrator process brand-events:research.completed:orchestrator-events
              orchestrator commit orchestrator-events
              orchestrator publish commands:orchestrator-commands
                orchestrator process commands:orchestrator-commands  failed: WaitFor
                  orchestrator GET  failed: 503
                  orchestrator commit orchestrator-commands
                  orchestrator publish returns:orchestrator-commands
                    orchestrator process returns:orchestrator-commands
                      orchestrator GET
                        research GET /v1/research/{research_id}
                      orchestrator commit orchestrator-commands
                      orchestrator publish brand-events:content.generated
                        orchestrator process brand-events:content.generated:orchestrator-events
                          orchestrator commit orchestrator-events
                          orchestrator publish commands:publisher-commands
                            publisher process commands:publisher-commands  failed: Unprocessable
                              publisher GET  failed: 400
                              publisher commit publisher-commands
                              publisher publish dead-letters:publisher-commands
                                monitor process dead-letters:publisher-commands:publisher-commands-dlq
                                  monitor commit publisher-commands-dlq
                                  monitor publish brand-events:dead_letter.recorded
                                    orchestrator process brand-events:dead_letter.recorded:orchestrator-events
                                      orchestrator commit orchestrator-events
                                        orchestrator publish brand-events:cycle.completed
                                          orchestrator process brand-events:cycle.completed:orchestrator-events
                                            orchestrator commit orchestrator-events
                                monitor replay returns:publisher-commands
                                  monitor publish returns:publisher-commands
                                    publisher process returns:publisher-commands
                                      publisher GET
                                        orchestrator GET /v1/content/{content_id}
                                      publisher commit publisher-commands
                                      publisher publish brand-events:content.published
                                        orchestrator process brand-events:content.published:orchestrator-events
                                          orchestrator commit orchestrator-events
                                          orchestrator publish commands:social-commands
                                            social process commands:social-commands
                                              social commit social-commands
                                              social publish brand-events:social.posted
                                                orchestrator process brand-events:social.posted:orchestrator-events
                                                  orchestrator commit orchestrator-events
                                          orchestrator publish commands:monitor-commands
                                            monitor process commands:monitor-commands
                                      publisher publish commands:monitor-commands
                                        monitor process commands:monitor-commands
"""
"""Without the commits of `monitor-commands`: both messages to it may share one, which is a child of either. And without
the service `events`, which keeps a copy of each event."""


@asynccontextmanager
async def detour(target: str, *, answer_first: int) -> AsyncIterator[str]:
    """An address that passes requests on to `target`, all but the first one under `/v1/` that is not the ledger's."""
    answers = [answer_first]
    async with httpx.AsyncClient(base_url=target, timeout=60) as onward:

        async def forward(request: Request) -> Response:
            if answers and not request.url.path.startswith("/v1/messages"):
                return Response(status_code=answers.pop())
            given = {name: value for name, value in request.headers.items() if name != "host"}
            answer = await onward.get(f"{request.url.path}?{request.url.query}".rstrip("?"), headers=given)
            kept = {name: answer.headers[name] for name in ("content-type", "etag") if name in answer.headers}
            return Response(answer.content, answer.status_code, kept)

        passing = server.server(Starlette(routes=[Route("/{path:path}", forward)]), "127.0.0.1", 0)
        serving = asyncio.create_task(passing.serve())
        await eventually(lambda: passing.started)
        try:
            yield f"http://127.0.0.1:{passing.servers[0].sockets[0].getsockname()[1]}"
        finally:
            passing.should_exit = True
            await serving


@dataclass
class Stack:
    addresses: services.ServiceAddresses
    logs: Path

    def log_lines(self, service: str, event: str) -> list[dict[str, Any]]:
        lines = map(json.loads, (self.logs / f"{service}.log").read_text().splitlines())
        return [line for line in lines if line.get("event") == event]


@pytest.fixture
def receiver() -> Iterator[SpanReceiver]:
    with SpanReceiver.running() as receiver:
        yield receiver


@pytest.fixture
async def stack(
    broker_urls: dict[str, str],
    make_database: Callable[..., Awaitable[str]],
    receiver: SpanReceiver,
    tmp_path: Path,
) -> AsyncIterator[Stack]:
    """The five services, traced; the first reading of a research and the first of an article go wrong."""
    addresses = services.choose_addresses()
    children = []
    async with (
        detour(addresses.url("research"), answer_first=REFUSED_ONCE) as research_url,
        detour(addresses.url("orchestrator"), answer_first=FINAL) as orchestrator_url,
    ):
        try:
            for name in services.NAMES:
                environment = services.environment(
                    name,
                    addresses=addresses,
                    rabbitmq_url=broker_urls[name],
                    database_url=await make_database(name),
                    service_key=KEY,
                    corpus=ROOT / "deploy" / "demo" / "corpus",
                ) | {
                    "RESEARCH_URL": research_url,
                    "ORCHESTRATOR_URL": orchestrator_url,
                    "RETRY_BASE_SECONDS": "0.3",
                    "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
                    "OTEL_BSP_SCHEDULE_DELAY": "200",
                }
                children.append(services.start(name, environment, tmp_path))
            await asyncio.to_thread(services.wait_until_ready, children, addresses)
            yield Stack(addresses, tmp_path)
        finally:
            await asyncio.to_thread(services.stop, children)


@pytest.mark.extended
async def test_a_keyword_is_one_trace_from_the_call_to_the_post_through_retry_and_replay(
    stack: Stack, receiver: SpanReceiver
) -> None:
    submitted = await one_keyword_with_a_retry_and_a_replay(stack)
    chain = submitted["correlation_id"]
    expected = dedent(THE_CHAIN).strip()

    def trees() -> list[str]:
        roots = [span for span in list(receiver.spans) if not span.parent_id]
        spans = [
            span
            for span in receiver.spans
            if span.name != "commit monitor-commands" and span.service != "events"
        ]
        return ["\n".join(tree(spans, root)) for root in sorted(roots, key=lambda root: root.began)]

    whole = [expected, "monitor POST /v1/dead-letters/{dead_letter_id}/replay"]
    await eventually(lambda: len("".join(trees())) >= len("".join(whole)))
    # The operator's request is a trace of its own, and the replay is linked to it.
    assert trees() == whole
    (replay,) = [span for span in receiver.spans if span.name.startswith("replay")]
    (request,) = [span for span in receiver.spans if "dead-letters/{" in span.name]
    assert replay.links == (request.span_id,)

    assert {span.attributes.get("correlation_id") for span in receiver.spans} == {chain}
    assert_messaging_spans_follow_the_conventions(receiver.spans, chain)
    assert_log_lines_name_their_spans(stack, receiver.spans)
    await assert_brandctl_shows_it(stack, receiver, submitted)
    assert_spans_say_what_they_are_about(receiver.spans)
    await assert_many_keywords_are_traces_of_their_own(stack, receiver)


def assert_spans_say_what_they_are_about(spans: list[ReceivedSpan]) -> None:
    keyword = "brand_engine.keyword"
    silent = {span.name for span in spans if span.attributes.get(keyword) != "pour-over coffee"}
    # What an operator asks for may be about anything.
    assert silent == {"POST /v1/brands/{slug}/research", "POST /v1/dead-letters/{dead_letter_id}/replay"}
    assert len({span.attributes.get("brand_engine.content_id") for span in spans} - {None}) == 1
    failed = [span for span in spans if span.attributes.get("error.type") in {"WaitFor", "Unprocessable"}]
    for span in failed:
        assert [event["exception.type"] for event in span.exceptions] == [span.attributes["error.type"]]
        assert "Traceback" in span.exceptions[0]["exception.stacktrace"]


async def assert_many_keywords_are_traces_of_their_own(stack: Stack, receiver: SpanReceiver) -> None:
    """More than are written at a time: most wait for a turn, which another keyword's end gives them."""
    keywords = [f"{one} {other}" for one, other in combinations(TOPICS, 2)][:60]
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, timeout=60) as api:
        url = f"{stack.addresses.url('orchestrator')}/v1"
        policy = {"name": "The Daily Grind", "max_unreviewed_drafts": 100}
        assert (await api.put(f"{url}/brands/daily-grind", json=policy)).is_success
        answer = (await api.post(f"{url}/brands/daily-grind/research", json={"keywords": keywords})).json()
        cycle = f"{url}/cycles/{answer['cycle_id']}"

        async def done() -> dict[str, Any] | None:
            progress: dict[str, Any] = (await api.get(cycle)).json()
            return progress if progress["pending"] + progress["processing"] == 0 else None

        progress = await eventually(done)

    def mine() -> list[ReceivedSpan]:
        return [
            span
            for span in list(receiver.spans)
            if span.attributes.get("correlation_id") == answer["correlation_id"]
        ]

    def written() -> set[str]:
        return {
            span.attributes["brand_engine.keyword"]
            for span in mine()
            if span.attributes.get("brand_engine.message.type") == "content.generate"
            and span.name.startswith("process")
        }

    asked = {each["keyword"] for each in progress["keywords"] if each["content_id"]}
    assert len(asked) > WRITTEN_AT_A_TIME
    await eventually(lambda: written() >= asked)
    roots = [span for span in mine() if not span.parent_id]
    (request, *others) = sorted(roots, key=lambda span: span.name)
    assert request.name == "POST /v1/brands/{slug}/research"
    assert {root.name for root in others} == {"create commands:research-commands"}
    assert {root.links for root in others} == {(request.span_id,)}
    assert Counter(root.attributes["brand_engine.keyword"] for root in others) == Counter(keywords)


async def one_keyword_with_a_retry_and_a_replay(stack: Stack) -> dict[str, Any]:
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, timeout=60) as api:
        brands = f"{stack.addresses.url('orchestrator')}/v1/brands/daily-grind"
        letters = f"{stack.addresses.url('monitor')}/v1/dead-letters"
        assert (await api.put(brands, json={"name": "The Daily Grind"})).is_success
        answer = await api.post(f"{brands}/research", json={"keywords": ["pour-over coffee"]})
        submitted: dict[str, Any] = answer.json()

        async def dead() -> str | None:
            items = (await api.get(letters)).json()["items"]
            return items[0]["id"] if items else None

        async def resolved() -> bool:
            return (await api.get(f"{letters}/{dead_letter}")).json()["state"] == "resolved"

        async def completed() -> bool:
            cycle = (
                await api.get(f"{stack.addresses.url('orchestrator')}/v1/cycles/{submitted['cycle_id']}")
            ).json()
            return bool(cycle["completed"] == 1)

        dead_letter = await eventually(dead)
        assert (await api.post(f"{letters}/{dead_letter}/replay")).status_code == 202
        await eventually(completed)
        await eventually(resolved)
        return submitted


def tree(spans: list[ReceivedSpan], root: ReceivedSpan, depth: int = 0) -> Iterator[str]:
    failure = f"  failed: {root.attributes['error.type']}" if root.failed else ""
    yield f"{'  ' * depth}{root.service} {root.name}{failure}"
    children = [span for span in spans if (span.trace_id, span.parent_id) == (root.trace_id, root.span_id)]
    for child in sorted(children, key=lambda child: child.began):
        yield from tree(spans, child, depth + 1)


def assert_messaging_spans_follow_the_conventions(spans: list[ReceivedSpan], chain: str) -> None:
    operations = {
        "publish": ("send", "PRODUCER"),
        "process": ("process", "CONSUMER"),
        "replay": ("create", "PRODUCER"),
    }
    for span in spans:
        operation = span.name.split(" ")[0]
        if operation not in operations:
            continue
        kind, span_kind = operations[operation]
        attributes = span.attributes
        assert span.kind == span_kind
        assert span.name == f"{operation} {attributes['messaging.destination.name']}"
        assert attributes["messaging.system"] == "rabbitmq"
        assert (attributes["messaging.operation.name"], attributes["messaging.operation.type"]) == (
            operation,
            kind,
        )
        assert attributes["messaging.rabbitmq.destination.routing_key"] in span.name
        assert attributes["messaging.message.conversation_id"] == chain
        assert attributes["messaging.message.id"]
        assert attributes["server.address"] == "127.0.0.1"
        assert isinstance(attributes["server.port"], int)
    attempts = [
        span.attributes["brand_engine.attempt"]
        for span in sorted(spans, key=lambda span: span.began)
        if span.name.startswith("process") and "orchestrator-commands" in span.name
    ]
    assert attempts == [1, 1]  # that research was away counts as no attempt


def assert_log_lines_name_their_spans(stack: Stack, spans: list[ReceivedSpan]) -> None:
    def named(service: str, event: str) -> list[str]:
        by_id = {(span.trace_id, span.span_id): span.name for span in spans}
        return [by_id[line["trace_id"], line["span_id"]] for line in stack.log_lines(service, event)]

    assert named("research", "research_done") == ["process commands:research-commands"]
    assert named("orchestrator", "article_written") == ["process returns:orchestrator-commands"]
    assert named("publisher", "message_dead_lettered") == ["process commands:publisher-commands"]
    assert named("publisher", "article_published") == ["process returns:publisher-commands"]
    assert named("monitor", "dead_letter_recorded") == ["commit publisher-commands-dlq"]
    assert named("monitor", "dead_letter_replayed") == ["POST /v1/dead-letters/{dead_letter_id}/replay"]


async def assert_brandctl_shows_it(stack: Stack, receiver: SpanReceiver, submitted: dict[str, Any]) -> None:
    for given in (submitted["correlation_id"], submitted["cycle_id"]):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "brandctl", "trace", given),
            env=os.environ | {"JAEGER_URL": receiver.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")
        shown = out.decode()
        assert f"{receiver.url}/trace/{receiver.spans[0].trace_id}" in shown
        for span in receiver.spans:
            assert f"{span.service} {span.name}  " in shown
        assert "400" in shown
