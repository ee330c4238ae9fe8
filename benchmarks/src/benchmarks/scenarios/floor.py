"""pipeline_floor: what the five services add to the work that a keyword needs.

The same keywords go through the services and, in turns, through one process that does the same work without messages and
HTTP (see [benchmarks.systems.floor][]). The figure counts only if the same texts come out.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from benchmarks.accounting import CpuSeconds, cpu_seconds
from benchmarks.errors import MeasurementError
from benchmarks.reporting import steps
from benchmarks.reporting.results import GATE_PASSED, ResultRow, spread_of
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.pipeline import Pipeline
from benchmarks.servers.nodes import RUNTIME_ROLE, Nodes
from benchmarks.servers.sql import Sql
from benchmarks.systems import profiler
from benchmarks.systems.stack import CORPUS, KEYWORDS, Stack, stack
from benchmarks.systems.texts import digest
from brandctl.local import processes
from brandctl.local import services as local

_FLOOR: Final = "floor"
_SERVICES: Final = ("orchestrator", "research", "publisher", "social")
"""The services with rows of a keyword."""
_IDLE_SECONDS: Final = 5.0
_LINE_SECONDS: Final = 600.0
_PARTS: Final = ("python", "database", "broker")
_SMALLEST_MS: Final = 0.1
"""Steps below this are summed up."""
_NOTHING: Final = CpuSeconds(0, 0, 0)
_TEXTS: Final = "select keyword, title, body_markdown from content"

Texts = dict[str, set[str]]
"""The digests of the texts by keyword."""


def pipeline_floor(run: BenchmarkRun) -> list[ResultRow]:
    row = ResultRow("pipeline_floor", "ours")
    try:
        with (
            stack(run.nodes) as services,
            Pipeline(services) as pipeline,
            _floor(run.nodes) as floor,
        ):
            _measure(run, row, _FloorComparison(run, pipeline, floor))
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(row.gate)
    return [row]


def _measure(run: BenchmarkRun, row: ResultRow, turns: "_FloorComparison") -> None:
    turns.warm_up()
    for number in range(1, run.of(2, run.rounds) + 1):
        turns.turn()
        run.log(f"pipeline_floor {number}: the services add {turns.ratios[-1]:.2f} of the floor")
    row.gate = turns.verdict()
    services, floor = _middle(turns.services_ms), _middle(turns.floor_ms)
    row.rounds = [round(each, 3) for each in turns.ratios]
    row.spread = spread_of(row.rounds)
    row.cpu_s_per_1k = services
    row.extra = {
        "keywords": turns.keywords,
        "services_ms": services,
        "floor_ms": floor,
        "added_ms": {part: round(services[part] - floor[part], 2) for part in _PARTS},
        "added_to_floor": round(median(turns.ratios), 3),
        **_steps(run, turns),
    }


def _steps(run: BenchmarkRun, turns: "_FloorComparison") -> dict[str, Any]:
    """What the services add by step; nothing where processes cannot be sampled."""
    try:
        return {"added_ms_by_step": turns.steps()}
    except MeasurementError as error:
        run.log(f"pipeline_floor, by step: {error}")
        return {"not_sampled": str(error)}


def _middle(used: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {part: round(median(each[part] for each in used), 2) for part in _PARTS}


class _FloorProcess:
    """The process that does a keyword's work alone: brands go in, digests of their texts come out."""

    def __init__(self, databases: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [*processes.as_user(None, signal.SIGTERM), sys.executable, "-m", "benchmarks.systems.floor"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "DATABASES": json.dumps(databases), "CORPUS": str(CORPUS.resolve())},
                text=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self) -> None:
        """Waits until it has read the documents."""
        self._line()

    def handle(self, brands: Sequence[str]) -> Texts:
        """Has it handle all keywords of new brands."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(list(brands))}\n")
        self._process.stdin.flush()
        texts: Texts = {}
        for digests in json.loads(self._line()):
            for keyword, found in digests.items():
                texts.setdefault(keyword, set()).add(found)
        return texts

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _line(self) -> str:
        """Its next line.

        Raises:
            MeasurementError: it ended, or wrote none in time.
        """
        assert self._process.stdout is not None
        late = threading.Timer(_LINE_SECONDS, self._process.kill)
        late.start()
        try:
            line = self._process.stdout.readline()
        finally:
            late.cancel()
        if not line:
            raise MeasurementError(f"the process of the floor ended: {self._log.read_text()[-1000:]}")
        return line


@contextmanager
def _floor(nodes: Nodes) -> Iterator[_FloorProcess]:
    """The process with fresh databases of the services."""
    with ExitStack() as cleanup:
        databases = {name: cleanup.enter_context(nodes.database()) for name in _SERVICES}
        local.migrate(
            {
                name: {"DATABASE_URL": url, "DATABASE_RUNTIME_ROLE": RUNTIME_ROLE}
                for name, url in databases.items()
            }
        )
        urls = {name: nodes.runtime_url(url) for name, url in databases.items()}
        process = _FloorProcess(urls, nodes.folder / "floor.log")
        cleanup.callback(process.end)
        process.wait()
        yield process


@dataclass
class _FloorComparison:
    """Keywords that go through the services and through the floor, in turns."""

    run: BenchmarkRun
    through_services: Pipeline
    floor: _FloorProcess
    services_ms: list[dict[str, float]] = field(default_factory=list)
    """Processor milliseconds for each keyword, by part, in each turn."""
    floor_ms: list[dict[str, float]] = field(default_factory=list)
    texts: Texts = field(default_factory=dict)
    """Of the services."""
    texts_of_floor: Texts = field(default_factory=dict)
    _idle: CpuSeconds = _NOTHING
    """Processor seconds of the resting servers in a second."""
    _number: int = 0

    @property
    def _stack(self) -> Stack:
        return self.through_services.services

    @property
    def keywords(self) -> int:
        """Of a turn."""
        return self.run.of(12, 60) * len(KEYWORDS)

    @property
    def ratios(self) -> list[float]:
        """What the services add, as a ratio to the floor, in each turn."""
        pairs = zip(self.services_ms, self.floor_ms, strict=True)
        return [sum(one.values()) / sum(other.values()) - 1 for one, other in pairs]

    def warm_up(self) -> None:
        """A turn that is not counted opens the connections, which ask for types and plan their statements once."""
        self._through_services()
        self._through_floor()
        before = self.run.nodes.cpu([])
        time.sleep(_IDLE_SECONDS)
        used = self.run.nodes.cpu([]) - before
        self._idle = CpuSeconds(used.broker / _IDLE_SECONDS, used.database / _IDLE_SECONDS, 0)

    def turn(self) -> None:
        self.services_ms.append(self._used(self._stack.pids, self._through_services))
        # Meanwhile the services rest. Their regular statements are not the floor's.
        self.floor_ms.append(self._used([self.floor.pid], self._through_floor, idle=self._idle))

    def _used(
        self, pids: list[int], work: Callable[[], None], idle: CpuSeconds = _NOTHING
    ) -> dict[str, float]:
        began, before = time.monotonic(), self.run.nodes.cpu(pids)
        work()
        used, seconds = self.run.nodes.cpu(pids) - before, time.monotonic() - began
        return {
            part: round(max(getattr(used, part) - getattr(idle, part) * seconds, 0) * 1000 / self.keywords, 3)
            for part in _PARTS
        }

    def _brands(self) -> list[str]:
        self._number += 1
        return [f"turn-{self._number}-{number}" for number in range(self.run.of(12, 60))]

    def _through_services(self) -> None:
        brands = self._brands()
        self.through_services.create(brands)
        for brand in brands:
            self.through_services.hand_in(brand)
        self.through_services.wait_for_posts()

    def _through_floor(self) -> None:
        _add(self.texts_of_floor, self.floor.handle(self._brands()))

    def verdict(self) -> str:
        """Whether the services and the floor wrote the same texts."""
        with Sql(self._stack.database_url("orchestrator")) as database:
            rows = database.rows(_TEXTS)
        for keyword, title, markdown in rows:
            self.texts.setdefault(keyword, set()).add(digest(title, markdown))
        other = [each for each in KEYWORDS if self.texts.get(each) != self.texts_of_floor.get(each)]
        if other:
            return f"failed: services and floor wrote different texts on {', '.join(other)}"
        return GATE_PASSED

    def steps(self) -> dict[str, float]:
        """One more turn of each, sampled: the milliseconds of Python that the services add, by step; the largest first."""
        pids = {service: child.process.pid for service, child in self._stack.children.items()}
        through = self._sampled(pids, self._through_services)
        beneath = self._sampled({_FLOOR: self.floor.pid}, self._through_floor)
        added = {step: through.get(step, 0.0) - beneath.get(step, 0.0) for step in through | beneath}
        shown = sorted(((ms, step) for step, ms in added.items() if abs(ms) >= _SMALLEST_MS), reverse=True)
        rest = sum(added.values()) - sum(ms for ms, _ in shown)
        return {step: round(ms, 2) for ms, step in shown} | {"the rest": round(rest, 2)}

    def _sampled(self, pids: Mapping[str, int], work: Callable[[], None]) -> dict[str, float]:
        """The processor milliseconds of these processes for a keyword, by step."""
        with profiler.sampling(pids, self.run.nodes.folder) as samplers:
            before = {name: cpu_seconds([pid]) for name, pid in pids.items()}
            work()
            used = {name: cpu_seconds([pid]) - before[name] for name, pid in pids.items()}
            lines = samplers.end()
        found: dict[str, float] = {}
        for name, of_process in lines.items():
            milliseconds = used[name] * 1000 / self.keywords
            for step, share in steps.by_step(steps.read(of_process)).items():
                found[step] = found.get(step, 0.0) + share * milliseconds
        return found


def _add(texts: Texts, more: Texts) -> None:
    for keyword, digests in more.items():
        texts.setdefault(keyword, set()).update(digests)
