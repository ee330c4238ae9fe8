"""Each keyword of many is one trace, however it is dispatched: by other keywords' ends, two replicas, a timer, a second request."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.context import Context as OtelContext
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from chassis.observing import chains, traces
from envelope import DomainMessage, Payload, new_event_id
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentRefused,
    Priority,
    ResearchCompleted,
)
from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.brands import BrandSlug, upsert_brand
from orchestrator.cycles import DEFAULT_LIMITS, CycleId, Housekeeping, NewCycle, begin_cycle, route
from orchestrator.cycles.dispatch import dispatch_overlooked
from orchestrator.schedule import Scheduler

MessageOf = Callable[..., DomainMessage[Any]]
SIX_HOURS = timedelta(hours=6)


class Stack:
    """Two replicas of the orchestrator; the other services are played, each by spans that continue what they get."""

    def __init__(
        self,
        replicas: list[Database],
        message_of: MessageOf,
        provider: TracerProvider,
        exporter: InMemorySpanExporter,
    ) -> None:
        self.replicas = replicas
        self._message_of = message_of
        self._tracer = provider.get_tracer("played")
        self._exporter = exporter
        self.traces: defaultdict[str, set[str]] = defaultdict(set)
        """Ids of the traces in which messages about a keyword were sent."""
        self.sent: Counter[str] = Counter()
        self._keyword_of: dict[str, str] = {}

    def roots(self) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.parent is None]

    async def submit(self, count: int) -> None:
        wanted = NewCycle(
            CycleId(new_event_id()),
            str(new_event_id()),
            BrandSlug("acme"),
            Priority.NORMAL,
            tuple(f"keyword {number}" for number in range(count)),
            None,
            b"digest",
        )
        with self._tracer.start_as_current_span("POST /v1/brands/{slug}/research"):
            await begin_cycle(self.replicas[0], wanted)

    async def answer_all(self) -> None:
        """Until nothing is sent any more; each round is answered by both replicas at the same time."""
        while answers := await self._take():
            await asyncio.gather(
                *(
                    self._hear(answers[start : start + 10], self.replicas[start // 10 % 2])
                    for start in range(0, len(answers), 10)
                ),
                dispatch_overlooked(self.replicas[1], DEFAULT_LIMITS),
            )

    async def lose_what_was_asked(self) -> None:
        """The commands never arrive, and no answer comes for hours: they are sent once more."""
        for messages in (await self._messages(), await self._messages()):
            self.sent["lost"] += len(messages)
        async with self.replicas[0].connection() as connection:
            await connection.execute("update keywords set moved_at = now() - interval '9 hours'")
        housekeeping = Housekeeping(self.replicas[1], stall_after=SIX_HOURS, keep_cycles=90 * SIX_HOURS)
        await housekeeping.look_after_stalled()

    async def _messages(self) -> list[dict[str, Any]]:
        async with self.replicas[0].connection() as connection:
            rows = await connection.fetch(
                "delete from outbox returning type, correlation_id, headers::text, convert_from(body, 'utf8') as body"
            )
        return [
            {**row, "headers": json.loads(row["headers"]), "payload": json.loads(row["body"])["payload"]}
            for row in rows
        ]

    async def _take(self) -> list[tuple[DomainMessage[Any], dict[str, str]]]:
        """The answers to all sent messages, each with the headers of the last span of its service."""
        answers = []
        for message in await self._messages():
            trace = traces.kept_of(message["headers"])
            self.sent[message["type"]] += 1
            if message["type"] in {"cycle.completed", "work.finished"}:
                assert trace
                continue
            if message["type"] == "work.finished":  # for the monitor, which answers nobody
                continue
            payload = message["payload"]
            keyword = payload.get("keyword") or self._keyword_of[payload["content_id"]]
            if content_id := payload.get("content_id"):
                self._keyword_of[content_id] = keyword
            assert trace, message
            self.traces[keyword].add(trace["traceparent"].split("-")[1])
            told = self._message_of(
                self._answer(message["type"], payload, keyword), message["correlation_id"]
            )
            context = traces.context_from(trace) or OtelContext()
            with self._tracer.start_as_current_span(f"answer {message['type']}", context=context) as span:
                answers.append((told, traces.headers_of(span)))
        return answers

    @staticmethod
    def _answer(kind: str, payload: dict[str, Any], keyword: str) -> Payload:
        about = {"brand_slug": "acme", "content_id": payload.get("content_id")}
        match kind:
            case "research.requested":
                return ResearchCompleted(brand_slug="acme", research_id=new_event_id(), keyword=keyword)
            case "content.generate" if keyword.endswith("3"):
                return ContentRefused(**about, keyword=keyword, reason="insufficient_sources")
            case "content.generate":
                return ContentGenerated(**about, keyword=keyword, word_count=300)
            case _:
                return ContentPublished(**about, published_url=f"https://acme.test/{payload['content_id']}")

    async def _hear(
        self, answers: list[tuple[DomainMessage[Any], dict[str, str]]], replica: Database
    ) -> None:
        headers = {message.event_id: trace for message, trace in answers}
        async with replica.transaction(headers) as tx:
            await route([message for message, _ in answers], tx)


@pytest.fixture
async def stack(
    orchestrator_database: Database,
    orchestrator_url: str,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
    message_of: MessageOf,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Stack]:
    exporter = InMemorySpanExporter()
    provider = traces.provider(SimpleSpanProcessor(exporter), "test")
    monkeypatch.setattr(traces, "tracer", lambda: provider.get_tracer("orchestrator"))
    monkeypatch.setattr(traces, "active", lambda: True)
    monkeypatch.setattr(chains, "_carried", set(chains._carried))
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            "acme",
            BrandSettings(name="Acme", channels=()),
        )
    async with orchestrator_database_at(orchestrator_url) as second:
        yield Stack([orchestrator_database, second], message_of, provider, exporter)
    provider.shutdown()


@pytest.mark.parametrize("count", [16, 20, 60, pytest.param(1000, marks=pytest.mark.extended)])
async def test_every_keyword_is_one_trace_however_many_there_are(stack: Stack, count: int) -> None:
    await stack.submit(count)
    await stack.answer_all()

    assert stack.sent["research.requested"] == stack.sent["content.generate"] == count
    assert stack.sent["content.publish"] == sum(number % 10 != 3 for number in range(count))
    assert stack.sent["cycle.completed"] == 1
    assert {len(ids) for ids in stack.traces.values()} == {1}
    ids = set().union(*stack.traces.values())
    roots = Counter(span.name for span in stack.roots())
    together = count <= 20
    assert len(ids) == (1 if together else count)
    request = {"POST /v1/brands/{slug}/research": 1}
    assert roots == (request if together else request | {"create commands:research-commands": count})
    (begun,) = [span for span in stack.roots() if span.name.startswith("POST")]
    links = {link.context.span_id for span in stack.roots() for link in span.links}
    assert links == (set() if together else {begun.context.span_id})


@pytest.mark.parametrize("count", [20, 60])
async def test_what_is_asked_once_more_goes_on_in_its_trace(stack: Stack, count: int) -> None:
    await stack.submit(count)
    await stack.lose_what_was_asked()
    await stack.answer_all()

    assert stack.sent["lost"] == count
    assert {len(ids) for ids in stack.traces.values()} == {1}
    roots = Counter(span.name for span in stack.roots())
    assert roots == {"POST /v1/brands/{slug}/research": 1} | (
        {} if count == 20 else {"create commands:research-commands": count}
    )


@pytest.mark.extended
async def test_a_schedule_begins_a_trace_to_which_those_of_its_keywords_are_linked(
    stack: Stack, api: Any
) -> None:
    schedule = {
        "keywords": [f"keyword {number}" for number in range(80)],
        "cron": "0 6 * * SUN",
    }
    answer = await api.put("/v1/brands/acme/schedules/basics", json=schedule)
    assert answer.is_success, answer.text
    async with stack.replicas[0].connection() as connection:
        await connection.execute("update schedules set due_at = now(), try_at = now()")
    before = len(stack.roots())
    assert await Scheduler(stack.replicas[1], keep_firings=SIX_HOURS).tick() == 1
    await stack.answer_all()

    roots = stack.roots()[before:]
    assert Counter(span.name for span in roots) == {"begin cycle": 1, "create commands:research-commands": 80}
    (begun,) = [span for span in roots if span.name == "begin cycle"]
    assert {link.context.span_id for span in roots for link in span.links} == {begun.context.span_id}
    assert {(span.attributes or {}).get("correlation_id") for span in roots} == {
        (begun.attributes or {})["correlation_id"]
    }
    assert {len(ids) for ids in stack.traces.values()} == {1}
