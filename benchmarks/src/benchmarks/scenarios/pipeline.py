"""pipeline_keywords: the five real services, from the first keyword submitted to the last post.

Once with the extractive writer, and once with an instant writer, which leaves the cost of everything else.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Final, Self

import httpx

from benchmarks.accounting import CpuSeconds
from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, ResultRow, spread_of
from benchmarks.run import BenchmarkRun
from benchmarks.servers.queues import Queues
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import KEYWORDS, Stack, stack
from brandctl.local import processes
from envelope.brand import CATALOGUE, EVENTS
from messaging import topology

_MESSAGES_PER_KEYWORD: Final = 8
"""From research.requested to social.posted, as tests/end_to_end counts them."""
INSTANT: Final = "ours, instant writer"
WRITERS: Final[Mapping[str, Mapping[str, str]]] = {
    "ours": {},
    INSTANT: {"orchestrator": "benchmarks.systems.instant_writer"},
}
"""Modules that replace a service's own."""
_WARM_UP_BRANDS: Final = 4
_FEWEST_BRANDS: Final = 6
_GATE_BRANDS: Final = 8
_DUPLICATES: Final = 0.05
_STALLED_SECONDS: Final = 90.0
"""A killed service's outbox rows are leased for half a minute."""


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """One measured run through the pipeline."""

    keywords: int
    keywords_per_s: float
    used: CpuSeconds
    by_service: Mapping[str, float]
    """Processor milliseconds for each keyword."""


def pipeline_keywords(run: BenchmarkRun) -> list[ResultRow]:
    return [_row(run, ResultRow("pipeline_keywords", system), modules) for system, modules in WRITERS.items()]


def _row(run: BenchmarkRun, row: ResultRow, modules: Mapping[str, str]) -> ResultRow:
    passages: list[PipelineRun] = []
    try:
        for number in range(1, run.of(1, min(run.rounds, 3)) + 1):
            with stack(run.nodes, modules=modules) as services, Pipeline(services) as pipeline:
                brands = _enough_brands(run, pipeline.warm_up())
                passages.append(_measure(run, pipeline, brands))
                run.log(
                    f"pipeline_keywords, {row.system}, {number}: {passages[-1].keywords_per_s:,.0f} keywords/s"
                )
                row.gate = run.gate_of(f"five services, {row.system}", pipeline.gate)
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(row.gate)
        return row
    row.rounds = [round(passage.keywords_per_s, 1) for passage in passages]
    row.msgs_per_s, row.spread = round(median(row.rounds), 1), spread_of(row.rounds)
    row.cpu_s_per_1k = passages[-1].used.per_thousand(passages[-1].keywords)
    row.extra = {
        "unit": "keywords/s",
        "keywords": passages[-1].keywords,
        "brands": passages[-1].keywords // len(KEYWORDS),
        "messages_per_s": round(row.msgs_per_s * _MESSAGES_PER_KEYWORD),
        "cpu_ms_by_service": dict(passages[-1].by_service),
    }
    return row


def _measure(run: BenchmarkRun, pipeline: "Pipeline", brands: int) -> PipelineRun:
    names = [f"brand-{number}" for number in range(brands)]
    services = pipeline.services
    pipeline.create(names)
    before, each_before = run.nodes.cpu(services.pids), services.cpu_by_service()
    began = datetime.now(UTC)
    for name in names:
        pipeline.hand_in(name)
    pipeline.wait_for_posts()
    used, each = run.nodes.cpu(services.pids) - before, services.cpu_by_service()
    keywords = brands * len(KEYWORDS)
    by_service = {name: round((each[name] - each_before[name]) * 1000 / keywords, 2) for name in each}
    return PipelineRun(keywords, keywords / (pipeline.last_post() - began).total_seconds(), used, by_service)


def _enough_brands(run: BenchmarkRun, keywords_per_s: float) -> int:
    """Brands that keep the pipeline busy; all of them submit the same keywords."""
    wanted = run.wanted_messages or keywords_per_s * run.of(6.0, 30.0)
    return max(int(wanted / len(KEYWORDS)), _FEWEST_BRANDS)


class Pipeline:
    """Submits keywords through the API and watches for the posts in the last service's database."""

    def __init__(self, services: Stack) -> None:
        self.services = services
        self.api = services.client("orchestrator")
        self._posts = Sql(services.database_url("social"))
        self._handed_in = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.api.close()
        self._posts.close()

    def create(self, brands: Sequence[str]) -> None:
        for brand in brands:
            self.api.put(f"/v1/brands/{brand}", json={"name": brand}).raise_for_status()

    def hand_in(self, brand: str) -> None:
        """All keywords, in one request."""
        answer = self.api.post(f"/v1/brands/{brand}/research", json={"keywords": KEYWORDS})
        answer.raise_for_status()
        self._handed_in += len(KEYWORDS)

    def hand_in_one(self, brand: str, keyword: str) -> datetime:
        """The time of acceptance."""
        answer = self.api.post(f"/v1/brands/{brand}/research", json={"keywords": [keyword]})
        accepted = datetime.now(UTC)
        answer.raise_for_status()
        self._handed_in += 1
        return accepted

    def warm_up(self) -> float:
        """Runs a few first keywords; returns their rate per second."""
        names = [f"warm-up-{number}" for number in range(_WARM_UP_BRANDS)]
        self.create(names)
        began = time.monotonic()
        for name in names:
            self.hand_in(name)
        self.wait_for_posts()
        return self._handed_in / (time.monotonic() - began)

    def wait_for_posts(self) -> None:
        found, last_change = -1, time.monotonic()
        while (now_found := self._posts.value("select count(*) from posts")) < self._handed_in:
            if now_found != found:
                found, last_change = now_found, time.monotonic()
            elif time.monotonic() - last_change > _STALLED_SECONDS:
                raise MeasurementError(f"stuck at {found} posts of {self._handed_in} keywords")
            time.sleep(0.1)

    def last_post(self) -> datetime:
        moment: datetime = self._posts.value("select max(pg_xact_commit_timestamp(xmin)) from posts")
        return moment

    def gate(self) -> str:
        """Kills one service and delivers 5% of all messages again: each keyword must have exactly one post."""
        with Queues(self.services.rabbitmq_url) as queues:
            tap = queues.tap((topology.COMMANDS, EVENTS))
            names = [f"gate-{number}" for number in range(_GATE_BRANDS)]
            self.create(names)
            for name in names:
                self.hand_in(name)
            self._posts_of_gate(_GATE_BRANDS * len(KEYWORDS) // 4)
            self.services.replace_killed("publisher")
            self.wait_for_posts()
            copies = queues.repeat(tap, topology.RETURNS, share=_DUPLICATES)
            while any(queues.ready(name) for name in topology.work_queues(CATALOGUE)):
                time.sleep(0.2)
        if copies == 0:
            return "failed: no message was repeated"
        return self._verdict()

    def _posts_of_gate(self, wanted: int) -> None:
        deadline = time.monotonic() + _STALLED_SECONDS
        while self._posts.value("select count(*) from posts where brand_slug like 'gate-%'") < wanted:
            if time.monotonic() > deadline:
                raise MeasurementError("the pipeline stands still")
            time.sleep(0.02)

    def _verdict(self) -> str:
        with Sql(self.services.database_url("orchestrator")) as orchestrator:
            states = orchestrator.rows("select state, count(*) as n from keywords group by state")
        with Sql(self.services.database_url("monitor")) as monitor:
            dead = monitor.value("select count(*) from dead_messages")
        posts, contents = (
            self._posts.value("select count(*) from posts"),
            self._posts.value("select count(distinct content_id) from posts"),
        )
        found = {row["state"]: row["n"] for row in states}
        if found == {"completed": self._handed_in} and posts == contents == self._handed_in and not dead:
            return GATE_PASSED
        return f"failed: {self._handed_in} keywords became {found}, {posts} posts of {contents} articles, {dead} dead letters"
