"""The metrics of a process under `/metrics`: counters in the code, and samples of its tables.

Every name begins with the system's; Prometheus adds the process as the label `job`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
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
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from chassis.database.pool import Connection, Connections

SAMPLE_SECONDS: Final = 15.0
"""Interval between two samples of the tables, independent of Prometheus."""

Read = Callable[[Connection], Awaitable[Mapping[str, float]]]
"""Reads a gauge: the value of its one label → its value."""
Sample = Callable[[Connection], Awaitable[list[Metric]]]


@dataclass(frozen=True, slots=True)
class TableGauge:
    """A gauge that a process reads from its own tables."""

    name: str
    documentation: str
    label: str
    read: Read


@dataclass(frozen=True, slots=True)
class Families:
    """Empty families of metrics, named after the system."""

    prefix: str

    def counter(self, name: str, documentation: str, *labels: str) -> CounterMetricFamily:
        return CounterMetricFamily(f"{self.prefix}_{name}", documentation, labels=labels)

    def histogram(self, name: str, documentation: str, *labels: str) -> HistogramMetricFamily:
        return HistogramMetricFamily(f"{self.prefix}_{name}", documentation, labels=labels)

    def gauge(self, name: str, documentation: str, *labels: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"{self.prefix}_{name}", documentation, labels=labels)

    def value(self, name: str, documentation: str, value: float) -> GaugeMetricFamily:
        """A gauge without labels."""
        return GaugeMetricFamily(f"{self.prefix}_{name}", documentation, value=value)


class Metrics(Collector):
    """The registry of all metrics of one process."""

    def __init__(self, connections: Connections, *, prefix: str) -> None:
        self.families = Families(prefix)
        self._connections = connections
        self._samples: list[Sample] = []
        self._sampled: list[Metric] = []
        # A registry of its own: tests run several processes in one.
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def add_collector(self, collector: Collector) -> None:
        """Add a collector to `/metrics`."""
        self._registry.register(collector)

    def add_sample(self, sample: Sample) -> None:
        """Add metrics that are read from the tables every `SAMPLE_SECONDS`."""
        self._samples.append(sample)

    def add_gauge(self, gauge: TableGauge) -> None:
        async def sample(connection: Connection) -> list[Metric]:
            family = self.families.gauge(gauge.name, gauge.documentation, gauge.label)
            for value, figure in (await gauge.read(connection)).items():
                family.add_metric((value,), figure)
            return [family]

        self.add_sample(sample)

    def route(self) -> Route:
        """Return the route `/metrics`; it needs no key, so it must not be public."""

        async def show(request: Request) -> Response:
            encode, content_type = choose_encoder(request.headers.get("accept", ""))
            return Response(encode(self._registry), headers={"content-type": content_type})

        return Route("/metrics", show, include_in_schema=False)

    async def keep_sampling(self) -> None:
        """Sample the tables forever; on errors, drop the old samples."""
        try:
            while True:
                await self.sample()
                await asyncio.sleep(SAMPLE_SECONDS)
        finally:
            self._sampled = []

    async def sample(self) -> None:
        """Sample the tables once.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        sampled: list[Metric] = []
        async with self._connections.connection() as connection:
            for sample in self._samples:
                sampled += await sample(connection)
        self._sampled = sampled

    def collect(self) -> Iterator[Metric]:
        """Yield the latest samples."""
        yield from self._sampled
