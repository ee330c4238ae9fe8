"""What a service shows to Prometheus under `/metrics`: counts made where things happen, and a few samples of its tables.

Every name begins with `brand_engine_`; which service it is, Prometheus knows by where it asks (its label `job`).
`docs/operations.md` lists the metrics, the alerts over them and what to do about each.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from messaging.counting import PUBLISH_FAILURES, Histogram
from messaging.database import Connection, Connections
from messaging.failures import Reason
from messaging.relay import Relay
from messaging.runner import QueueRunner
from messaging.topology import describe

SAMPLE_SECONDS: Final = 15.0
"""Between two looks at the tables, however often Prometheus asks."""
COUNT_LIMIT: Final = 100_000
"""Rows of the outbox counted at most: a larger backlog shows as this many."""
_PREFIX: Final = "brand_engine"

# In the order of an index, which holds what is there and nothing of what a backlog of yesterday left behind.
_SAMPLE: Final = """
    with waiting as (select deliver_at from outbox order by due_at limit $1)
    select count(*) as depth,
           coalesce(extract(epoch from clock_timestamp() - min(deliver_at)
                                         filter (where deliver_at <= clock_timestamp())), 0)::float8 as oldest_age,
           (select coalesce(sum(pg_stat_get_live_tuples(inhrelid)), 0)::bigint
            from pg_inherits where inhparent = 'processed_events'::regclass) as inbox_rows
    from waiting
"""

Read = Callable[[Connection], Awaitable[Mapping[str, float]]]
"""Reads a gauge: the value of its one label → its value."""


@dataclass(frozen=True, slots=True)
class TableGauge:
    """A figure that a service reads from its own tables."""

    name: str
    documentation: str
    label: str
    read: Read


class Metrics(Collector):
    """Everything that one service shows."""

    def __init__(self, connections: Connections, relay: Relay, runners: Sequence[QueueRunner]) -> None:
        self._connections = connections
        self._relay = relay
        self._runners = runners
        self._gauges: list[TableGauge] = []
        self._sampled: list[Metric] = []
        # One of its own: several services may live in one process, as in tests.
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def add_gauge(self, gauge: TableGauge) -> None:
        self._gauges.append(gauge)

    def route(self) -> Route:
        """`/metrics`, without a key: for the network that the service lives in, not for its visitors."""

        async def show(request: Request) -> Response:
            encode, content_type = choose_encoder(request.headers.get("accept", ""))
            return Response(encode(self._registry), headers={"content-type": content_type})

        return Route("/metrics", show, include_in_schema=False)

    # -- samples of tables -------------------------------------------------------------------------------------------

    async def keep_sampling(self) -> None:
        """Reads the gauges of tables again and again; where that fails there are none, rather than old ones."""
        try:
            while True:
                await self.sample()
                await asyncio.sleep(SAMPLE_SECONDS)
        finally:
            self._sampled = []

    async def sample(self) -> None:
        """Reads the gauges of tables once.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        async with self._connections.connection() as connection:
            record = await connection.fetchrow(_SAMPLE, COUNT_LIMIT)
            assert record is not None
            sampled: list[Metric] = [
                _gauge("outbox_depth", f"Rows in the outbox, up to {COUNT_LIMIT}.", record["depth"]),
                _gauge(
                    "outbox_oldest_age_seconds",
                    "How long the oldest message that should have left already has waited; 0 if none does.",
                    record["oldest_age"],
                ),
                _gauge("inbox_rows", "Estimated rows in the inbox.", record["inbox_rows"]),
            ]
            for gauge in self._gauges:
                family = GaugeMetricFamily(
                    f"{_PREFIX}_{gauge.name}", gauge.documentation, labels=(gauge.label,)
                )
                for value, figure in (await gauge.read(connection)).items():
                    family.add_metric((value,), figure)
                sampled.append(family)
        self._sampled = sampled

    # -- counts ------------------------------------------------------------------------------------------------------

    def collect(self) -> Iterator[Metric]:
        """All families, those that nothing has happened in yet at 0: a rate needs something to begin with."""
        yield from self._ends()
        yield from self._durations()
        yield from self._state()
        yield from self._publishes()
        yield from self._sampled

    def _ends(self) -> Iterator[Metric]:
        processed = _counter("messages_processed", "Messages whose effects were committed.", "queue", "type")
        duplicate = _counter("messages_duplicate", "Deliveries that had an outcome already.", "queue")
        retried = _counter(
            "messages_retried", "Attempts that failed and will be made again.", "queue", "type"
        )
        dead = _counter("messages_dead_lettered", "Messages given up.", "queue", "reason")
        rejected = _counter(
            "messages_rejected", "Bodies without an envelope, dead-lettered by the broker.", "queue"
        )
        for runner in self._runners:
            queue, counts = runner.queue, runner.settlement.counts
            for name in runner.table:
                processed.add_metric((queue, name), counts.processed[name])
                retried.add_metric((queue, name), counts.retried[name])
            for reason in Reason:
                dead.add_metric((queue, reason.value), counts.dead_lettered[reason.value])
            duplicate.add_metric((queue,), counts.duplicates)
            rejected.add_metric((queue,), counts.rejected)
        yield from (processed, duplicate, retried, dead, rejected)

    def _durations(self) -> Iterator[Metric]:
        sizes = _histogram("batch_size", "Messages per committed transaction.", "queue")
        handling = _histogram(
            "handler_seconds",
            "One attempt of a handler, or one call of a handler of batches (type: several, if it took several).",
            "queue",
            "type",
        )
        whole = _histogram(
            "end_to_end_seconds",
            "From the making of a message to the commit of its effects, waiting for its time and retries included.",
            "queue",
            "type",
        )
        for runner in self._runners:
            queue, counts = runner.queue, runner.settlement.counts
            _add(sizes, (queue,), counts.batch_sizes)
            for name in dict.fromkeys((*runner.table, *counts.handler_seconds)):
                _add(handling, (queue, name), counts.handler_seconds[name])
            for name in runner.table:
                _add(whole, (queue, name), counts.end_to_end_seconds[name])
        yield from (sizes, handling, whole)

    def _state(self) -> Iterator[Metric]:
        in_hand = GaugeMetricFamily(
            f"{_PREFIX}_deliveries_in_hand", "Deliveries not settled yet.", labels=("queue",)
        )
        up = GaugeMetricFamily(
            f"{_PREFIX}_consumer_up", "1 while the queue is being consumed, 0 otherwise.", labels=("queue",)
        )
        for runner in self._runners:
            in_hand.add_metric((runner.queue,), runner.in_hand)
            up.add_metric((runner.queue,), float(runner.subscription.consuming))
        yield from (in_hand, up)

    def _publishes(self) -> Iterator[Metric]:
        counts = self._relay.counts
        published = _counter("published", "Messages that the broker has confirmed.", "exchange")
        failures = _counter("publish_failures", "Publishes that failed and will be tried again.", "reason")
        for exchange in describe().exchanges:
            published.add_metric((exchange,), counts.published[exchange])
        for reason in PUBLISH_FAILURES:
            failures.add_metric((reason,), counts.failed[reason])
        yield from (published, failures)


def _counter(name: str, documentation: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"{_PREFIX}_{name}", documentation, labels=labels)


def _histogram(name: str, documentation: str, *labels: str) -> HistogramMetricFamily:
    return HistogramMetricFamily(f"{_PREFIX}_{name}", documentation, labels=labels)


def _gauge(name: str, documentation: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}_{name}", documentation, value=value)


def _add(family: HistogramMetricFamily, labels: Sequence[str], histogram: Histogram) -> None:
    bounds = [*map(floatToGoString, histogram.bounds), "+Inf"]
    buckets: list[tuple[str, float]] = list(zip(bounds, histogram.cumulated(), strict=True))
    family.add_metric(labels, buckets, histogram.total)
