"""`python -m faults`: plays the fault matrix, or faults at random, and reports what became of the work."""

import argparse
import asyncio
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from rich.console import Console
from rich.markup import escape

from faults import scenarios
from faults.judging import report
from faults.judging.results import ScenarioResult
from faults.playing import scenario
from faults.playing.scenario import Scenario
from faults.scenarios import random_faults
from faults.surroundings.servers import ServerAddresses

_LOGS: Final = Path("build") / "faults"
_WIDTH: Final = 120
"""Columns, where the output is no terminal."""

_EPILOG = """\
Invariants, by the numbers that violations carry:
  1  an accepted command ends exactly once: effect, open dead letter, or discard
  2  every effect was submitted
  3  a command whose confirm was lost ends at most once
  4  decisions of a brand are in sequence, and no two writers work at once
  5  what an effect sends reaches every bound queue
  6  attempts and delays keep to the policy; nobody pays for a neighbour
  7  a replay keeps its conversation and ends
  8  nothing is left over: queues, outbox, leases, markers
  9  the fault really happened
The history, and the workers' logs, of what failed are kept in build/faults/.
"""


def main() -> None:
    arguments = _parser().parse_args()
    known = scenarios.load()
    # They tell of every connection that we cut, with a traceback.
    for name in ("aio_pika", "aiormq", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH
    if arguments.list:
        _list(console, list(known.values()))
        return
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1_000_000)
    if arguments.simulate:
        _simulate(arguments.simulate, seed)
    wanted = _wanted(known, arguments)
    minutes = f" MINUTES={arguments.minutes:g}" if arguments.minutes is not None else ""
    console.print(f"seed {seed}; again: make faults SEED={seed}{minutes}")
    try:
        results = asyncio.run(_play_all(console, wanted, seed, fast=arguments.fast))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("broken off")
    report.write(arguments.report, results)
    report.show(console, results)
    failed = [result for result in results if not result.passed]
    played = sum(result.skipped is None for result in results)
    console.print(f"{played - len(failed)} of {played} passed; seed {seed}; report in {arguments.report}")
    sys.exit(1 if failed or not results else 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m faults",
        description="Breaks private brokers, databases and processes while work is running, and judges from outside "
        "what became of every message.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="say what there is to break, and end")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="scenarios whose names contain one of these; several stand apart or between semicolons",
    )
    parser.add_argument(
        "--fast", action="store_true", help="the subset that runs with every test, in its small size"
    )
    parser.add_argument("--seed", type=int, help="of everything random; printed if not given")
    parser.add_argument("--minutes", type=float, help="break things at random under load, for so long")
    parser.add_argument(
        "--simulate", type=int, metavar="SCHEDULES", help="play so many schedules in one process"
    )
    parser.add_argument("--report", type=Path, default=Path("build/faults.json"), help="default: %(default)s")
    return parser


def _wanted(known: dict[str, Scenario], arguments: argparse.Namespace) -> list[Scenario]:
    if arguments.minutes is not None:
        return [random_faults.scenario_of(arguments.minutes)]
    wanted = [each for each in known.values() if each.fast or not arguments.fast]
    if not arguments.only:
        return wanted
    try:
        return scenarios.choose(wanted, arguments.only)
    except scenarios.UnknownScenarioError as error:
        sys.exit(str(error))


def _list(console: Console, known: Sequence[Scenario]) -> None:
    width = max(len(each.name) for each in known)
    for each in known:
        marks = "fast" if each.fast else ""
        console.print(f"{escape(each.name):{width}}  {marks:4}  {escape(each.breaks)}", soft_wrap=True)
    console.print(
        f"\n{len(known)} scenarios. Play one: python -m faults --only '{known[0].name}'", soft_wrap=True
    )


def _simulate(schedules: int, seed: int) -> NoReturn:
    """Becomes the simulation's own program."""
    jobs = os.cpu_count() or 1
    command = [sys.executable, "-m", "faults.simulation", "--schedules", str(schedules), "--seed", str(seed)]
    os.execv(sys.executable, [*command, "--jobs", str(jobs)])


async def _play_all(
    console: Console, wanted: Sequence[Scenario], seed: int, *, fast: bool
) -> list[ScenarioResult]:
    started = time.monotonic()
    results: list[ScenarioResult] = []
    task = asyncio.current_task()
    assert task is not None
    # In order, so that nodes and their data go too.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with tempfile.TemporaryDirectory(prefix="brand-engine-faults-") as name:
        folder = Path(name)
        # PostgreSQL does not run as root and must get to its data.
        folder.chmod(0o711)  # noqa: ASYNC240
        async with ServerAddresses.launched(folder / "shared") as servers:
            for number, each in enumerate(wanted, 1):
                console.print(f"{number:3}/{len(wanted)}  {escape(each.name)} …")
                place = folder / str(number)
                # Of its own for each, whichever others are played before it.
                own_seed = seed ^ zlib.crc32(each.name.encode())
                result = await scenario.play(each, servers, place, seed=own_seed, fast=fast)
                results.append(result)
                console.print(f"         {report.line(result)}")
                _keep(place, result)
    console.print(f"{time.monotonic() - started:.0f} s in all")
    return results


def _keep(place: Path, result: ScenarioResult) -> None:
    """The traces of a failure stay; the others go with the folder."""
    kept = _LOGS / result.fault.replace(" ", "-").replace("/", "-")
    shutil.rmtree(kept, ignore_errors=True)
    if not result.passed and place.exists():
        shutil.copytree(place, kept, ignore=shutil.ignore_patterns("nodes"))


if __name__ == "__main__":
    main()
