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
from typing import Final

from benchmarks.reporting import charts, goals, report, results
from benchmarks.reporting.results import Row
from benchmarks.run import Run
from benchmarks.scenarios import SCENARIOS
from benchmarks.servers import nodes
from benchmarks.servers.nodes import Nodes
from benchmarks.systems import known

_ROOT: Final = Path(__file__).parents[3]
_OUTPUT: Final = _ROOT / "build"
_PICTURES: Final = _ROOT / "docs" / "images"

_EPILOGUE: Final = """
A private RabbitMQ and a private PostgreSQL, both durable, are started for the run and removed after it. Every round gets a
fresh database and a fresh vhost; systems take turns, round by round. A figure counts only when its gate passed: a run with 5%
duplicates and one worker killed, after which every message has exactly one effect.

examples:
  python -m benchmarks                                      everything, small: about 8 minutes
  python -m benchmarks --full --docs                        everything, large, and the pictures of the docs
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
            full=arguments.full,
            systems=chosen,
            wanted_rounds=arguments.rounds,
            with_gate=not arguments.no_gate,
            wanted_messages=arguments.messages,
        )
        rows = _measure(run, names, left_out)
        _write_surroundings(servers, run)
    _conclude(rows, docs=arguments.docs)


def _measure(run: Run, names: Sequence[str], left_out: Mapping[str, str]) -> list[Row]:
    rows: list[Row] = []
    for name, reason in left_out.items():
        run.log(f"{name} is left out: {reason}")
    for name in names:
        run.log(f"scenario {name}")
        rows += SCENARIOS[name](run)
        if name == "drain_idempotent":
            rows += [
                Row(name, peer, gate=f"skipped: {reason}", kind="peer") for peer, reason in left_out.items()
            ]
        # After each scenario, so that a run cut short is not lost.
        results.write(_OUTPUT / "bench.json", rows)
    run.log("done")
    return rows


def _conclude(rows: Sequence[Row], *, docs: bool) -> None:
    outcomes = goals.judge(rows)
    report.show(rows, outcomes)
    (_OUTPUT / "goals.json").write_text(
        json.dumps([asdict(outcome) for outcome in outcomes], indent=1, ensure_ascii=False) + "\n"
    )
    pictures = charts.write(_OUTPUT, rows)
    if docs:
        pictures += charts.write(_PICTURES, rows)
    written = [_OUTPUT / "bench.json", _OUTPUT / "goals.json", *pictures]
    print("written:", ", ".join(str(path.relative_to(_ROOT)) for path in written))


def _write_surroundings(servers: Nodes, run: Run) -> None:
    """What a figure is worth little without: versions, settings, the machine, and what else it was doing."""
    surroundings = {
        "full": run.full,
        "rounds": run.rounds,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(time.monotonic() - run.began),
        "processors": os.cpu_count(),
        "load_average_at_end": os.getloadavg(),
        "python": sys.version.split()[0],
        "servers": servers.versions(),
        "postgresql_settings": nodes.POSTGRES_SETTINGS,
        "rabbitmq_settings": nodes.RABBITMQ_SETTINGS,
        "peers": known.versions(),
    }
    (_OUTPUT / "bench-surroundings.json").write_text(json.dumps(surroundings, indent=1) + "\n")


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
    add("--docs", action="store_true", help="write the pictures to docs/images as well")
    return parser


def _listed(values: Sequence[str] | None) -> list[str]:
    return [part for value in values or [] for part in value.split(",") if part]


if __name__ == "__main__":
    main()
