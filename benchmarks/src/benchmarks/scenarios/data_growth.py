"""data_growth: what every read of a brand costs in a brand of 10,000 articles, beside one of a hundred, in turns."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import NO_GATE, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.servers.sql import Sql
from benchmarks.systems.agency import LARGEST, AgencySize, furnish
from benchmarks.systems.stack import Stack, stack
from brandctl.local import processes
from brandctl.local import services as local

_SMALL: Final = "brand-0001"
_SERVICES: Final = ("orchestrator", "research", "publisher", "social", "events")
"""Services that keep data of brands."""
_BRAND: Final = frozenset({"{slug}", "{brand}"})
_ENDLESS: Final = ("/live", "/stream", "/archive", "/export")
"""Ends of paths whose answers have no end, or are a whole brand on purpose."""
_LEAST_MS: Final = 4.0
"""What is quicker counts as so slow: below, the machine's noise is larger than the work."""
_FLAT: Final = 1.3
_SITE: Final = (
    "/sites/{slug}/",
    "/sites/{slug}/feed.xml",
    "/sites/{slug}/rss.xml",
    "/sites/{slug}/sitemap.xml",
)
"""Pages that visitors read."""


@dataclass(frozen=True, slots=True)
class _BrandRead:
    """A request about a brand."""

    service: str
    path: str
    by_query: bool
    times: Mapping[str, list[float]] = field(default_factory=lambda: {_SMALL: [], LARGEST: []})

    @property
    def name(self) -> str:
        return f"{self.service} {self.path}{'?brand=' if self.by_query else ''}"

    def address(self, brand: str) -> str:
        for each in _BRAND:
            if each in self.path:
                return self.path.replace(each, brand)
        return str(httpx.URL(self.path, params={"brand": brand}))

    @property
    def small(self) -> float:
        return median(self.times[_SMALL])

    @property
    def large(self) -> float:
        return median(self.times[LARGEST])

    @property
    def growth(self) -> float:
        return max(self.large, _LEAST_MS) / max(self.small, _LEAST_MS)


def data_growth(run: BenchmarkRun) -> list[ResultRow]:
    row = ResultRow("data_growth", "ours")
    try:
        with stack(run.nodes, local.PROCESSES) as services:
            size = furnish(services, run.nodes, run.of(AgencySize(20, 500), AgencySize(1_000, 100_000)))
            reads = _measure(services, run.wanted_rounds or run.of(3, 11))
            with Sql(services.database_url("orchestrator")) as sql:
                articles = {
                    brand: sql.value("select count(*) from content where brand_slug = $1", brand)
                    for brand in (_SMALL, LARGEST)
                }
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(row.gate)
        return [row]
    reads.sort(key=lambda each: each.growth, reverse=True)
    row.gate = NO_GATE
    row.extra |= {
        "brands": size.brands,
        "articles": articles[LARGEST],
        "articles_of_the_small": articles[_SMALL],
        "reads": len(reads),
        "largest_growth": round(reads[0].growth, 2),
        "grown": {
            each.name: [round(each.small, 1), round(each.large, 1)] for each in reads if each.growth > _FLAT
        },
    }
    lines = (f"{each.growth:6.2f}x {each.small:8.1f} ms {each.large:8.1f} ms  {each.name}" for each in reads)
    run.keep("data-growth.txt", "\n".join(lines) + "\n")
    run.log(f"data_growth: {row.extra}")
    return [row]


def _measure(services: Stack, rounds: int) -> list[_BrandRead]:
    """Reads everything in both brands in turns; a first round does not count."""
    clients = {name: services.client(name) for name in _SERVICES}
    try:
        reads = [each for name, client in clients.items() for each in _reads(name, client)]
        known = [
            each
            for each in reads
            if all(_answers(clients[each.service], each, brand) for brand in (_SMALL, LARGEST))
        ]
        for _ in range(rounds):
            for each in known:
                for brand in (_SMALL, LARGEST):
                    began = time.monotonic()
                    clients[each.service].get(each.address(brand)).raise_for_status()
                    each.times[brand].append((time.monotonic() - began) * 1000)
    finally:
        for client in clients.values():
            client.close()
    if not known:
        raise MeasurementError("no API answers about a brand")
    return known


def _answers(client: httpx.Client, read: _BrandRead, brand: str) -> bool:
    return client.get(read.address(brand)).is_success


def _reads(service: str, client: httpx.Client) -> Iterator[_BrandRead]:
    """The GET operations of an API that need nothing but a brand, and the pages of sites."""
    answer = client.get("/openapi.json")
    answer.raise_for_status()
    paths: dict[str, dict[str, Any]] = answer.json()["paths"]
    for path, operations in paths.items():
        if "get" not in operations or path.endswith(_ENDLESS):
            continue
        fields = {part for part in path.split("/") if part.startswith("{")}
        parameters = operations["get"].get("parameters", ())
        if fields and fields <= _BRAND:
            yield _BrandRead(service, path, by_query=False)
        elif not fields and any((each["name"], each["in"]) == ("brand", "query") for each in parameters):
            yield _BrandRead(service, path, by_query=True)
    if service == "publisher":
        yield from (_BrandRead(service, each, by_query=False) for each in _SITE)
