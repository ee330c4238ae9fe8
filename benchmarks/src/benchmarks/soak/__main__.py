"""`python -m benchmarks.soak --hours 2`: works for hours, and says whether memory and tables stay flat.

Exit code 1 if something grew, or if something was left in a queue or an outbox at the end.
"""

import argparse
import json
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.accounting import MEGABYTE, resident_bytes
from benchmarks.errors import MeasurementError
from benchmarks.servers import nodes
from benchmarks.servers.queues import Queues
from benchmarks.servers.sql import Sql
from benchmarks.soak.activities import Activity, WorkingDay
from benchmarks.soak.flatness import Growth, Sample, growths
from benchmarks.systems.console_people import sign_in
from benchmarks.systems.stack import Stack, stack
from brandctl.local import processes
from brandctl.local import services as local
from console.people.domain import Role
from envelope.brand import CATALOGUE
from messaging import topology

_OUTPUT: Final = Path(__file__).parents[4] / "build" / "soak.json"
_SAMPLE_SECONDS: Final = 10.0
_SAMPLES_OF_A_LINE: Final = 6
_DRAIN_SECONDS: Final = 300.0
"""What is left at the end is finished within it."""
_MOST_ERRORS: Final = 20
"""Acts that fail in a row; the run ends then."""
_TABLES: Final = dict.fromkeys(
    ("orchestrator", "research", "publisher", "social", "monitor", "events"), ("outbox", "message_attempts")
) | {
    "orchestrator": ("outbox", "message_attempts", "brands", "cycles", "keywords", "content"),
    "publisher": ("outbox", "message_attempts", "pages"),
    "social": ("outbox", "message_attempts", "posts"),
}
"""Tables whose rows are removed again: by the relay, by the end of a message, with a brand."""
_EMPTY: Final = "outbox"


class Soak:
    """A run: activities in threads of their own, and samples of what they leave."""

    def __init__(self, services: Stack, day: WorkingDay, seconds: float) -> None:
        self._services = services
        self._day = day
        self._seconds = seconds
        self._ended = threading.Event()
        self._began = time.monotonic()
        self._failures: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.samples: list[Sample] = []
        self.errors: list[str] = []

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def run(self) -> None:
        threads = [
            threading.Thread(target=self._repeat, args=(each,), name=each.name)
            for each in self._day.activities()
        ]
        for each in threads:
            each.start()
        restarts = iter(self._restarts())
        due = next(restarts, None)
        try:
            while self._now < self._seconds and not self._ended.is_set():
                if due is not None and self._now >= due[0]:
                    self._restart(due[1])
                    due = next(restarts, None)
                self.samples.append(self._sample())
                if len(self.samples) % _SAMPLES_OF_A_LINE == 1:
                    print(self._progress(), flush=True)
                self._ended.wait(_SAMPLE_SECONDS)
        finally:
            self._ended.set()
            for each in threads:
                each.join()

    def _progress(self) -> str:
        sample = self.samples[-1]
        largest = max(sample.memory_mb, key=sample.memory_mb.__getitem__)
        return (
            f"[{sample.second / 60:.0f} of {self._seconds / 60:.0f} minutes] {self.done.total():,} acts,"
            f" {sum(rows for name, rows in sample.rows.items() if name.endswith('.outbox'))} rows in outboxes,"
            f" largest process: {largest}, {sample.memory_mb[largest]:.0f} MB"
        )

    def _repeat(self, activity: Activity) -> None:
        while not self._ended.wait(activity.every_seconds):
            try:
                self.done[activity.name] += activity.act()
                self._failures[activity.name] = 0
            except (httpx.HTTPError, OSError) as error:
                # A service that is started again refuses connections meanwhile.
                self._failures[activity.name] += 1
                if self._failures[activity.name] == _MOST_ERRORS:
                    self.errors.append(
                        f"{activity.name}: failed {_MOST_ERRORS} times in a row, at last with {error}"
                    )
                    self._ended.set()

    def _restarts(self) -> Iterator[tuple[float, str]]:
        """Each service once, within the first quarter: later, the age of its process is what is watched."""
        names = list(self._services.children)
        for number, name in enumerate(names, 1):
            yield self._seconds * 0.2 * number / len(names), name

    def _restart(self, name: str) -> None:
        child = self._services.children[name]
        child.process.terminate()
        child.process.wait()
        self._services.start(name)
        local.wait_until_ready(list(self._services.children.values()), self._services.addresses)
        self.done["services are started again"] += 1

    def _sample(self) -> Sample:
        memory = {
            name: round(resident_bytes(child.process.pid) / MEGABYTE, 1)
            for name, child in self._services.children.items()
        }
        return Sample(round(self._now, 1), memory, self._rows())

    def _rows(self) -> dict[str, int]:
        found = {}
        for service, tables in _TABLES.items():
            with Sql(self._services.database_url(service)) as sql:
                for table in tables:
                    found[f"{service}.{table}"] = sql.value(f"select count(*) from {table}")  # noqa: S608  (names of this module)
        return found

    def left(self) -> list[str]:
        """What is in a queue or an outbox after some minutes of rest."""
        deadline = time.monotonic() + _DRAIN_SECONDS
        with Queues(self._services.rabbitmq_url) as queues:
            while (found := list(self._left(queues))) and time.monotonic() < deadline:
                time.sleep(1.0)
            return found

    def _left(self, queues: Queues) -> Iterator[str]:
        for name, rows in self._rows().items():
            if name.endswith(f".{_EMPTY}") and rows:
                yield f"{rows} rows in {name}"
        for each in topology.work_queues(CATALOGUE):
            if waiting := queues.ready(each):
                yield f"{waiting} messages in {each}"


def report(soak: Soak, found: Sequence[Growth], left: Sequence[str]) -> bool:
    """Prints what was done and what grew; returns whether everything stayed flat."""
    console = Console()
    table = Table("what", "second quarter", "last quarter", "growth", "")
    for each in found:
        verdict = "flat" if each.is_flat else f"grew, more than {each.bound:.0%}"
        table.add_row(
            each.name,
            f"{each.second_quarter:,.1f}",
            f"{each.last_quarter:,.1f}",
            f"{each.share:+.1%}",
            verdict,
        )
    console.print(table)
    for name, count in sorted(soak.done.items()):
        console.print(f"{count:,}: {name}")
    for problem in (*soak.errors, *left):
        console.print(f"[bold]{problem}[/bold]", highlight=False)
    return not soak.errors and not left and all(each.is_flat for each in found)


@contextmanager
def _running(seconds: float) -> Iterator[Soak]:
    with (
        tempfile.TemporaryDirectory(prefix="brand-engine-soak-") as folder,
        nodes.running(Path(folder)) as servers,
        stack(servers, local.PROCESSES, variables={"LOG_LEVEL": "warning"}) as services,
    ):
        day = WorkingDay(services, sign_in(services, "Ada", Role.OWNER, None))
        try:
            yield Soak(services, day, seconds)
        finally:
            day.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0, help="how long (default: 2)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    seconds = arguments.hours * 3600
    try:
        with _running(seconds) as soak:
            soak.run()
            left = soak.left()
            found = growths(soak.samples, seconds)
    except (MeasurementError, processes.StartError, ValueError) as error:
        sys.exit(str(error))
    is_flat = report(soak, found, left)
    _OUTPUT.parent.mkdir(exist_ok=True)
    written = {
        "hours": arguments.hours,
        "flat": is_flat,
        "done": soak.done,
        "errors": soak.errors,
        "left": left,
        "growth": [{**asdict(each), "share": round(each.share, 4)} for each in found],
        "samples": [asdict(each) for each in soak.samples],
    }
    _OUTPUT.write_text(json.dumps(written, indent=1))
    print(f"written: {_OUTPUT.name}")
    sys.exit(0 if is_flat else 1)


if __name__ == "__main__":
    main()
