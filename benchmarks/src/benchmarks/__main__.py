"""`python -m benchmarks`: measures, prints tables and the goals, writes build/bench.json and pictures."""

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.reporting import document
from benchmarks.reporting.document import Measurements
from benchmarks.reporting.output import ReportFiles, conclude
from benchmarks.reporting.results import ResultRow, RunProgress, no_figure
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios import SCENARIOS
from benchmarks.servers import nodes
from benchmarks.servers.nodes import Nodes
from benchmarks.systems import selection

_ROOT: Final = Path(__file__).parents[3]
_FILES: Final = ReportFiles(_ROOT)
_WAY_ON: Final = (
    " --resume goes on with the scenario that was cut off; the document stays as it is until then."
)

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
    _check(arguments, names)
    try:
        chosen, left_out = selection.choose(_listed(arguments.system))
    except selection.UnknownSystemError as error:
        sys.exit(str(error))
    with (
        tempfile.TemporaryDirectory(prefix="brand-engine-bench-") as folder,
        nodes.running(Path(folder)) as servers,
    ):
        run = BenchmarkRun(
            servers,
            _FILES.output,
            full=arguments.full,
            systems=chosen,
            chain_systems=selection.of_chains(),
            wanted_rounds=arguments.rounds,
            with_gate=not arguments.no_gate,
            wanted_messages=arguments.messages,
        )
        progress = _progress(arguments)
        # Read before the run: at its end, an unresponsive server would cost all results.
        machine = _machine(servers)
        stopped = _measure(run, names, left_out, progress)
    surroundings = {**_run_of(run, names, progress), **machine}
    docs = arguments.docs and stopped is None
    written = conclude(_FILES, Measurements(progress.rows, surroundings), docs=docs)
    print("written:", ", ".join(str(path.relative_to(_ROOT)) for path in written))
    if stopped is not None:
        print("Interrupted: this is what there was." + _WAY_ON * (progress.wishes is not None))
        sys.exit(stopped)


def _check(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Checks the arguments and ends the process with a reason, instead of failing an hour later."""
    if unknown := set(names) - set(SCENARIOS):
        sys.exit(f"no scenario {', '.join(sorted(unknown))}; there are: {', '.join(SCENARIOS)}")
    if arguments.resume and arguments.only:
        sys.exit("--resume goes on with a run of every scenario: not with --only")
    if arguments.docs:
        if arguments.only or arguments.system or arguments.messages or arguments.no_gate:
            sys.exit(
                "--docs wants everything, with its gates: no --only, --system, --messages or --no-gate; "
                "the document and its pictures are of one run"
            )
        try:
            document.check(_FILES.document.read_text())
        except document.DocumentError as error:
            sys.exit(str(error))


def _progress(arguments: argparse.Namespace) -> RunProgress:
    if arguments.only:
        # Not stored, so that a run of one scenario does not overwrite an interrupted full run.
        return RunProgress(_FILES.output, None)
    wishes = {name: getattr(arguments, name) for name in ("full", "system", "rounds", "messages", "no_gate")}
    if arguments.resume:
        return RunProgress.read(_FILES.output, wishes)
    return RunProgress(_FILES.output, wishes)


def _measure(
    run: BenchmarkRun, names: Sequence[str], left_out: Mapping[str, str], progress: RunProgress
) -> int | None:
    """Runs the scenarios that have no figures yet; returns the exit code of an interrupted run."""
    run.worker_memory = progress.worker_memory
    for name, reason in left_out.items():
        run.log(f"{name} is left out: {reason}")
    for number, name in enumerate(names, start=1):
        if name in progress.took:
            run.log(f"scenario {number} of {len(names)}: {name} was measured before the interruption")
            continue
        run.log(f"scenario {number} of {len(names)}: {name}")
        began, load = time.monotonic(), os.getloadavg()[0]
        try:
            rows = _rows(run, name)
        except (KeyboardInterrupt, SystemExit) as ending:
            run.log(f"{name} was interrupted")
            return ending.code if isinstance(ending, SystemExit) and isinstance(ending.code, int) else 130
        if name == "drain_idempotent":
            rows += [
                ResultRow(name, peer, gate=f"skipped: {reason}", kind="peer")
                for peer, reason in left_out.items()
            ]
        took = {"at": _now(), "seconds": round(time.monotonic() - began), "load_before": round(load, 1)}
        # After each scenario, so that an interruption loses nothing.
        progress.add(name, rows, took, run.worker_memory)
    run.log("done")
    return None


def _rows(run: BenchmarkRun, name: str) -> list[ResultRow]:
    """Runs a scenario and returns its rows; a failure becomes a row, so that the others still run."""
    try:
        return list(SCENARIOS[name](run))
    except Exception as error:  # noqa: BLE001 - whatever a library raises, a server that died included
        traceback.print_exc()
        gate = no_figure(error)
        run.log(f"{name} {gate}")
        return [ResultRow(name, "ours", gate=gate)]


def _run_of(run: BenchmarkRun, names: Sequence[str], progress: RunProgress) -> dict[str, Any]:
    """The arguments of the run, and its duration."""
    return {
        "full": run.full,
        "rounds": run.rounds,
        "wanted": list(names),
        "at": max((took["at"] for took in progress.took.values()), default=_now()),
        "seconds": sum(took["seconds"] for took in progress.took.values()),
        "sittings": progress.sittings,
        "scenarios": progress.took,
    }


def _machine(servers: Nodes) -> dict[str, Any]:
    """The conditions of the run: versions, settings, the machine."""
    return {
        "processors": os.cpu_count(),
        "python": sys.version.split()[0],
        "servers": servers.versions(),
        "postgresql_settings": nodes.POSTGRES_SETTINGS,
        "rabbitmq_settings": nodes.RABBITMQ_SETTINGS,
        "peers": selection.versions(),
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
        help=f"systems, separated by commas; ours is always among them: {', '.join(selection.NAMES)}",
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
    add(
        "--resume",
        action="store_true",
        help="go on where a run of the same kind was interrupted, and measure again what has no figure",
    )
    return parser


def _listed(values: Sequence[str] | None) -> list[str]:
    return [part for value in values or [] for part in value.split(",") if part]


if __name__ == "__main__":
    main()
