"""`python -m benchmarks`: measures, prints tables and the goals, writes build/bench.json and pictures."""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.reporting import charts, document, flames, goals, report, steps
from benchmarks.reporting.document import Measurements
from benchmarks.reporting.results import Progress, Row
from benchmarks.run import Run
from benchmarks.scenarios import SCENARIOS
from benchmarks.servers import nodes
from benchmarks.servers.nodes import Nodes
from benchmarks.systems import known

_ROOT: Final = Path(__file__).parents[3]
_OUTPUT: Final = _ROOT / "build"
_PICTURES: Final = _ROOT / "docs" / "images"
_DOCUMENT: Final = _ROOT / "docs" / "performance.md"
_MEASUREMENTS: Final = _ROOT / "docs" / "measurements.json"

_EPILOGUE: Final = """
A private RabbitMQ and a private PostgreSQL, both durable, are started for the run and removed after it. Every round gets a
fresh database and a fresh vhost; systems take turns, round by round. A figure counts only when its gate passed: a run with 5%
duplicates and one worker killed, after which every message has exactly one effect.

examples:
  python -m benchmarks                                      everything, small: about 8 minutes
  python -m benchmarks --full --docs                        everything, large, and the tables and pictures of the docs
  python -m benchmarks --full --docs --resume               and on from where that was interrupted
  python -m benchmarks --only drain_idempotent --system ours --rounds 5 --no-gate       to tune with
  POLICY='{"max_batch_size": 200}' python -m benchmarks --only drain_idempotent --system ours

Run it alone on the machine: whatever else runs is measured along with it.
"""


def main() -> None:
    arguments = _parser().parse_args()
    # An orderly end on SIGTERM too: servers stopped, their data removed.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    names = _listed(arguments.only) or list(SCENARIOS)
    if unknown := set(names) - set(SCENARIOS):
        sys.exit(f"no scenario {', '.join(sorted(unknown))}; there are: {', '.join(SCENARIOS)}")
    if arguments.docs and set(names) != set(SCENARIOS):
        sys.exit("--docs wants every scenario: the document and its pictures are of one run")
    if arguments.docs:
        document.check(_DOCUMENT.read_text())
    try:
        chosen, left_out = known.choose(_listed(arguments.system))
    except known.UnknownSystemError as error:
        sys.exit(str(error))
    with (
        tempfile.TemporaryDirectory(prefix="brand-engine-bench-") as folder,
        nodes.running(Path(folder)) as servers,
    ):
        run = Run(
            servers,
            _OUTPUT,
            full=arguments.full,
            systems=chosen,
            wanted_rounds=arguments.rounds,
            with_gate=not arguments.no_gate,
            wanted_messages=arguments.messages,
        )
        progress = Progress.read(_OUTPUT, full=run.full) if arguments.resume else Progress(_OUTPUT, run.full)
        _measure(run, names, left_out, progress)
        surroundings = _surroundings(servers, run, progress)
        run.keep("bench-surroundings.json", json.dumps(surroundings, indent=1) + "\n")
    _conclude(Measurements(progress.rows, surroundings), docs=arguments.docs)


def _measure(run: Run, names: Sequence[str], left_out: Mapping[str, str], progress: Progress) -> None:
    run.worker_memory = progress.worker_memory
    for name, reason in left_out.items():
        run.log(f"{name} is left out: {reason}")
    for number, name in enumerate(names, start=1):
        if name in progress.took:
            run.log(f"scenario {number} of {len(names)}: {name} was measured before the interruption")
            continue
        run.log(f"scenario {number} of {len(names)}: {name}")
        began, load = time.monotonic(), os.getloadavg()[0]
        rows = list(SCENARIOS[name](run))
        if name == "drain_idempotent":
            rows += [
                Row(name, peer, gate=f"skipped: {reason}", kind="peer") for peer, reason in left_out.items()
            ]
        took = {"at": _now(), "seconds": round(time.monotonic() - began), "load_before": round(load, 1)}
        # After each scenario, so that a run cut short is not lost.
        progress.add(name, rows, took, run.worker_memory)
    run.log("done")


def _conclude(measurements: Measurements, *, docs: bool) -> None:
    rows, outcomes = measurements.rows, goals.judge(measurements.rows)
    report.show(rows, outcomes)
    (_OUTPUT / "goals.json").write_text(
        json.dumps([asdict(outcome) for outcome in outcomes], indent=1, ensure_ascii=False) + "\n"
    )
    written = [_OUTPUT / "bench.json", _OUTPUT / "goals.json", *_draw(_OUTPUT, measurements)]
    if docs:
        text = document.renew(_DOCUMENT.read_text(), measurements)
        measurements.write(_MEASUREMENTS)
        _DOCUMENT.write_text(text)
        written += [_MEASUREMENTS, _DOCUMENT, *_draw(_PICTURES, measurements)]
    print("written:", ", ".join(str(path.relative_to(_ROOT)) for path in written))


def _draw(folder: Path, measurements: Measurements) -> list[Path]:
    pictures = charts.write(folder, measurements.rows)
    profiles = [row for row in measurements.rows if "cpu_ms_by_step" in row.extra]
    if profiles:
        stacks = _OUTPUT / profiles[0].extra["stacks"]
        path = folder / "bench-flames.svg"
        path.write_text(
            flames.draw(
                "Where a keyword's time goes",
                "Processor time of the five services for one keyword; what is called stands on its caller, as wide as its time",
                steps.read_by_service(stacks.read_text().splitlines()),
                profiles[0].extra["cpu_ms_by_service"],
            )
        )
        pictures.append(path)
    return pictures


def _surroundings(servers: Nodes, run: Run, progress: Progress) -> dict[str, Any]:
    """What a figure is worth little without: versions, settings, the machine, and what else it was doing."""
    return {
        "full": run.full,
        "rounds": run.rounds,
        "at": _now(),
        "seconds": sum(took["seconds"] for took in progress.took.values()),
        "sittings": progress.sittings,
        "processors": os.cpu_count(),
        "python": sys.version.split()[0],
        "servers": servers.versions(),
        "postgresql_settings": nodes.POSTGRES_SETTINGS,
        "rabbitmq_settings": nodes.RABBITMQ_SETTINGS,
        "peers": known.versions(),
        "scenarios": progress.took,
    }


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures throughput, latency and cost of the services' runtime, beside other libraries.",
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--only",
        action="append",
        metavar="NAMES",
        help=f"scenarios, separated by commas: {', '.join(SCENARIOS)}",
    )
    add(
        "--system",
        "--systems",
        action="append",
        metavar="NAMES",
        help=f"systems, separated by commas; ours is always among them: {', '.join(known.NAMES)}",
    )
    add("--full", action="store_true", help="large sizes, five rounds, weaker tiers too: an hour and more")
    add("--rounds", type=int, metavar="N", help="measured rounds for each figure")
    add("--messages", type=int, metavar="N", help="messages for each round, whatever the system's speed")
    add(
        "--no-gate",
        action="store_true",
        help="figures without their correctness gate, which then do not count",
    )
    add(
        "--docs",
        action="store_true",
        help="renew docs/performance.md's tables and pictures, docs/measurements.json",
    )
    add("--resume", action="store_true", help="go on where a run of the same size was interrupted")
    return parser


def _listed(values: Sequence[str] | None) -> list[str]:
    return [part for value in values or [] for part in value.split(",") if part]


if __name__ == "__main__":
    main()
