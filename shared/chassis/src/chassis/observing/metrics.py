"""The metrics of a process under `/metrics`: counters in the code, and samples of its tables.

Code that counts takes a `prometheus_client.Counter`, which `Metrics.counter` makes. Where each message counts, plain integers
are summed up by a collector (`messaging.metrics`).

Every name starts with the system's; Prometheus adds the process as the label `job`.
"""

import platform
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, disable_created_metrics
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

# When a series began is known from its first sample; told with every series it would double their lines.
disable_created_metrics()  # type: ignore[no-untyped-call]

_UNKNOWN: Final = "unknown"
SAMPLE_EVERY: Final = timedelta(seconds=15)
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

    def show_build(self, process: str, revision: str) -> None:
        """Show `<system>_build_info`, always 1.

        Args:
            process: its version is that of the distribution `<system>-<process>`.
            revision: of the sources, set by the build; may be empty.
        """
        labels = ("version", "revision", "python")
        shown = Gauge(
            f"{self.families.prefix}_build_info",
            "What is running; always 1.",
            labels,
            registry=self._registry,
        )
        number = _version_of(f"{self.families.prefix}-{process}")
        shown.labels(number, revision or _UNKNOWN, platform.python_version()).set(1)

    def add_collector(self, collector: Collector) -> None:
        """Add a collector to `/metrics`."""
        self._registry.register(collector)

    def counter(
        self, name: str, documentation: str, *labels: str, values: Iterable[Sequence[str]] = ()
    ) -> Counter:
        """Make the counter `<system>_{name}_total`.

        `values` of the labels that are known begin at 0: a rate needs a first value.
        """
        made = Counter(f"{self.families.prefix}_{name}", documentation, labels, registry=self._registry)
        for known in values:
            made.labels(*known)
        return made

    def add_sample(self, sample: Sample) -> None:
        """Add metrics that are read from the tables every `SAMPLE_EVERY`."""
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

    async def sample(self) -> None:
        """Sample the tables once; if that fails, there are no samples.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        sampled: list[Metric] = []
        try:
            async with self._connections.connection() as connection:
                for sample in self._samples:
                    sampled += await sample(connection)
        except BaseException:
            self._sampled = []
            raise
        self._sampled = sampled

    def collect(self) -> Iterator[Metric]:
        """Yield the latest samples."""
        yield from self._sampled


def _version_of(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return _UNKNOWN
