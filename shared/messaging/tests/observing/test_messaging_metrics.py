"""A service's `/metrics`, after things have really happened to it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from chassis.testing import eventually, running
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ResearchCompleted, ResearchFailed, ResearchRequested
from messaging import (
    Context,
    QueuePolicy,
    Record,
    RetryLater,
    Service,
    Transaction,
    Unprocessable,
    on_batch,
    on_each,
)
from messaging.observing.counting import SEVERAL, Histogram

QUEUE = "research-commands"
TYPE = "research.requested"


class Figures:
    """Reads `/metrics` of a service over HTTP; names without their common beginning."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def samples(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        answer = await self._client.get("/metrics")
        assert answer.status_code == 200
        return {
            (sample.name.removeprefix("brand_engine_"), frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }

    async def value(self, name: str, **labels: str) -> float | None:
        """None if it is not shown."""
        return (await self.samples()).get((name, frozenset(labels.items())))

    async def becomes(self, wanted: float | None, name: str, **labels: str) -> None:
        async def reached() -> bool:
            return await self.value(name, **labels) == wanted

        await eventually(reached)


@asynccontextmanager
async def figures(service: Service) -> AsyncIterator[Figures]:
    async with (
        running(service),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.port}", trust_env=False) as client,
    ):
        yield Figures(client)


@pytest.fixture
def quick_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chassis.app.SAMPLE_EVERY", timedelta(milliseconds=50))


async def accept(messages: Sequence[DomainMessage], tx: Transaction) -> None:
    """A handler that has nothing to do."""


async def test_everything_is_there_from_the_start_at_zero_and_without_a_key(world) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(accept, ResearchRequested))
    async with figures(service) as shown:
        samples = await shown.samples()
    for name, labels in {
        "messages_processed_total": {"queue": QUEUE, "type": TYPE},
        "messages_duplicate_total": {"queue": QUEUE},
        "messages_retried_total": {"queue": QUEUE, "type": TYPE},
        "messages_dead_lettered_total": {"queue": QUEUE, "reason": "exhausted"},
        "messages_rejected_total": {"queue": QUEUE},
        "batch_size_count": {"queue": QUEUE},
        "handler_seconds_count": {"queue": QUEUE, "type": TYPE},
        "end_to_end_seconds_count": {"queue": QUEUE, "type": TYPE},
        "deliveries_in_hand": {"queue": QUEUE},
        "queue_paused": {"queue": QUEUE},
        "published_total": {"exchange": "brand-events"},
        "publish_failures_total": {"reason": "unroutable"},
    }.items():
        assert samples[name, frozenset(labels.items())] == 0
    assert samples["consumer_up", frozenset({("queue", QUEUE)})] == 1
    assert any(name == "process_resident_memory_bytes" for name, _ in samples)


async def test_prometheus_may_ask_for_open_metrics(world) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(accept, ResearchRequested))
    async with figures(service), httpx.AsyncClient(trust_env=False) as client:
        wanted = {"accept": "application/openmetrics-text;version=1.0.0"}
        answer = await client.get(f"http://127.0.0.1:{service.port}/metrics", headers=wanted)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    families = {
        family.name: family.type for family in openmetrics.text_string_to_metric_families(answer.text)
    }
    assert families["brand_engine_messages_processed"] == "counter"
    assert families["brand_engine_handler_seconds"] == "histogram"
    assert families["brand_engine_consumer_up"] == "gauge"


async def test_messages_are_counted_by_how_they_ended(world) -> None:
    async def judge(message: DomainMessage, context: Context) -> Record | None:
        match message.payload.keyword:
            case "again" if context.attempt == 1:
                raise RetryLater("not yet", after=timedelta(milliseconds=20))
            case "never":
                raise Unprocessable("no such thing")
        return None

    service = world.service()
    service.consume(QUEUE, on_each(judge, ResearchRequested))
    async with figures(service) as shown:
        twice = world.request("fine")
        for message in (twice, world.request("again"), world.request("never")):
            await world.send(message)
        await shown.becomes(2, "messages_processed_total", queue=QUEUE, type=TYPE)
        await world.send(twice)
        await shown.becomes(1, "messages_duplicate_total", queue=QUEUE)
        await world.send_raw(b"no envelope")
        await shown.becomes(1, "messages_rejected_total", queue=QUEUE)
        await shown.becomes(1, "messages_retried_total", queue=QUEUE, type=TYPE)
        await shown.becomes(1, "messages_dead_lettered_total", queue=QUEUE, reason="permanent")
        # One attempt each, and the second one of "again".
        await shown.becomes(4, "handler_seconds_count", queue=QUEUE, type=TYPE)
        await shown.becomes(2, "end_to_end_seconds_count", queue=QUEUE, type=TYPE)
        # The retry and the dead letter.
        await shown.becomes(1, "published_total", exchange="returns")
        await shown.becomes(1, "published_total", exchange="dead-letters")
        await shown.becomes(0, "deliveries_in_hand", queue=QUEUE)


async def test_batches_are_counted_with_their_sizes_and_mixed_calls_as_several(world) -> None:
    messages = [
        world.message(payload)
        for _ in range(3)
        for payload in (
            ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword="k"),
            ResearchFailed(brand_slug="acme", keyword="k", reason="insufficient_sources", detail="too few"),
        )
    ]
    for message in messages:
        await world.broker.publish("brand-events", message.type, encode(message), type=message.type)
    service = world.service("orchestrator")
    service.consume(
        "orchestrator-events",
        on_batch(accept, ResearchCompleted, ResearchFailed),
        policy=QueuePolicy(max_batch_size=6, max_batch_timeout=60),
    )
    labels = {"queue": "orchestrator-events"}
    async with figures(service) as shown:
        await shown.becomes(6, "batch_size_sum", **labels)
        assert await shown.value("batch_size_bucket", le="5.0", **labels) == 0
        assert await shown.value("batch_size_bucket", le="10.0", **labels) == 1
        for name in ("research.completed", "research.failed"):
            assert await shown.value("messages_processed_total", type=name, **labels) == 3
            assert await shown.value("end_to_end_seconds_count", type=name, **labels) == 3
        assert await shown.value("handler_seconds_count", type=SEVERAL, **labels) == 1


async def test_time_is_counted_from_when_the_message_was_made(world) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(accept, ResearchRequested))
    message = world.request()
    old = message.model_copy(update={"timestamp": message.timestamp - timedelta(seconds=200)})
    ahead = world.request().model_copy(update={"timestamp": message.timestamp + timedelta(hours=1)})
    labels = {"queue": QUEUE, "type": TYPE}
    async with figures(service) as shown:
        await world.send(old)
        await world.send(ahead)
        await shown.becomes(2, "end_to_end_seconds_count", **labels)
        assert await shown.value("end_to_end_seconds_bucket", le="60.0", **labels) == 1
        assert await shown.value("end_to_end_seconds_bucket", le="300.0", **labels) == 2
        total = await shown.value("end_to_end_seconds_sum", **labels)
    assert total is not None
    assert 200 <= total < 300  # a clock that runs ahead takes nothing away


@pytest.mark.usefixtures("quick_samples")
async def test_the_outbox_shows_all_rows_and_the_age_of_those_that_are_due(world) -> None:
    service = world.service()
    async with figures(service) as shown:
        await shown.becomes(0, "outbox_depth")
        async with service.database.transaction() as tx:
            tx.send(world.request().payload, correlation_id="c", delay=timedelta(hours=1))
        await shown.becomes(1, "outbox_depth")
        assert await shown.value("outbox_oldest_age_seconds") == 0
        # A row whose sender is at work on it, and has been for too long.
        await world.database.execute(
            "insert into outbox (id, exchange, routing_key, event_id, type, body, headers, deliver_at, due_at, lease)"
            " values ($1, 'commands', $2, $1, $3, '', '{}', now() - interval '90 s', now() + interval '1 h', $1)",
            new_event_id(),
            QUEUE,
            TYPE,
        )
        await shown.becomes(2, "outbox_depth")
        age = await shown.value("outbox_oldest_age_seconds")
    assert age is not None
    assert 90 <= age < 120


@pytest.mark.usefixtures("quick_samples")
async def test_the_inbox_is_estimated(world) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(accept, ResearchRequested))
    async with figures(service) as shown:
        await shown.becomes(0, "inbox_rows")
        for _ in range(3):
            await world.send(world.request())
        await shown.becomes(3, "inbox_rows")


async def test_publishes_that_nobody_takes_are_counted_by_reason(world) -> None:
    service = world.service()
    async with figures(service) as shown:
        async with service.database.transaction() as tx:
            tx.send_raw(
                queue="nowhere",
                body=b"{}",
                event_id=new_event_id(),
                type=TYPE,
                correlation_id=None,
                headers={},
                continues={},
            )
        await shown.becomes(1, "publish_failures_total", reason="unroutable")
        assert await shown.value("publish_failures_total", reason="unavailable") == 0


@pytest.mark.usefixtures("quick_samples")
async def test_without_the_database_the_figures_of_its_tables_are_missing_rather_than_old(world) -> None:
    async with world.proxy_to_database() as proxy:
        service = world.service(database_url=proxy.url)
        service.consume(QUEUE, on_batch(accept, ResearchRequested))
        async with figures(service) as shown:
            await shown.becomes(0, "outbox_depth")
            proxy.cut()
            await shown.becomes(None, "outbox_depth")
            await world.send(world.request())
            await shown.becomes(0, "consumer_up", queue=QUEUE)
            proxy.mend()
            await shown.becomes(1, "messages_processed_total", queue=QUEUE, type=TYPE)
            await shown.becomes(0, "outbox_depth")
            await shown.becomes(1, "consumer_up", queue=QUEUE)


@pytest.mark.usefixtures("quick_samples")
async def test_a_service_shows_figures_of_its_own_tables(world) -> None:
    service = world.service()

    async def by_keyword(connection) -> dict[str, float]:
        rows = await connection.fetch("select keyword, count(*) from effects group by keyword")
        return {row["keyword"]: row["count"] for row in rows}

    service.gauge("effects", "Effects by keyword.", "keyword", by_keyword)
    await world.database.execute("insert into effects values (null, 'tea'), (null, 'tea')")
    async with figures(service) as shown:
        await shown.becomes(2, "effects", keyword="tea")
        await world.database.execute("delete from effects")
        await shown.becomes(None, "effects", keyword="tea")


@given(st.lists(st.lists(st.floats(-5, 50, allow_nan=False), max_size=8), max_size=8))
def test_a_histogram_counts_what_adding_one_by_one_counts(batches: list[list[float]]) -> None:
    histogram = Histogram((0.0, 1.0, 10.0))
    for batch in batches:
        histogram.add(batch)
    values = [max(value, 0.0) for batch in batches for value in batch]
    at_most = [sum(value <= bound for value in values) for bound in histogram.bounds]
    assert histogram.cumulated() == [*at_most, len(values)]
    assert histogram.total == pytest.approx(sum(values))
