"""`python -m faults.simulation`: runs schedules, says how it goes, and shows the easiest failure."""

import argparse
import sys
import time

from faults.simulation import runs
from faults.simulation.mutations import MUTATIONS

_TELL_SECONDS = 5.0
_LAST_LINES = 60


def main() -> int:
    """Returns the exit code: 1 if an invariant was violated."""
    parser = argparse.ArgumentParser(prog="python -m faults.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=10_000, help="how many (default: 10,000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first; each further one has the next")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument(
        "--trace", action="store_true", help="show everything that happens in the first schedule"
    )
    parser.add_argument(
        "--mutation", choices=sorted(MUTATIONS), help="switch a guarantee off, to see it missed"
    )
    arguments = parser.parse_args()
    if arguments.trace:
        return _show(arguments.seed, arguments.mutation, None)
    if arguments.mutation:
        summary = runs.run(
            arguments.seed, arguments.schedules, mutation=arguments.mutation, stop_at_failure=True
        )
    else:
        summary = runs.simulate(arguments.seed, arguments.schedules, arguments.jobs, tell=_RunProgress().tell)
    _report(summary)
    if summary.failures:
        easiest = summary.failures[0]
        print(f"\nThe easiest of {len(summary.failures)} failures, seed {easiest.seed}:")
        _show(easiest.seed, arguments.mutation, _LAST_LINES)
        print(f"\npython -m faults.simulation --seed {easiest.seed} --schedules 1 --trace shows all of it.")
    return 1 if summary.failures else 0


class _RunProgress:
    def __init__(self) -> None:
        self._next = time.monotonic() + _TELL_SECONDS
        self._told = 0

    def tell(self, summary: runs.RunSummary) -> None:
        for failure in summary.failures[self._told :]:
            print(f"seed {failure.seed} failed: {failure.violations[0][0]}", flush=True)
        self._told = len(summary.failures)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _TELL_SECONDS
            print(
                f"{summary.schedules:,} schedules, {summary.per_minute:,.0f}/min, {len(summary.failures)} failed",
                flush=True,
            )


def _report(summary: runs.RunSummary) -> None:
    print(
        f"{summary.schedules:,} schedules in {summary.seconds:.1f} s ({summary.per_minute:,.0f}/min), "
        f"{summary.virtual_seconds / 3600:,.1f} virtual hours, {len(summary.failures)} failed"
    )
    print("faults: " + ", ".join(f"{name} {count:,}" for name, count in sorted(summary.fired.items())))
    for failure in summary.failures[:20]:
        for invariant, detail in failure.violations[:3]:
            print(f"seed {failure.seed}: {invariant}: {detail}")


def _show(seed: int, mutation: str | None, last: int | None) -> int:
    """Prints what happens in a schedule, up to its first violation if only the last lines are wanted."""
    trace, violations = runs.trace(seed, mutation=mutation)
    lines = [f"{moment:12.6f} {process:3} {' '.join(what)}" for moment, process, what in trace]
    if last is not None:
        first = next((index for index, (_, _, what) in enumerate(trace) if what[0] == "VIOLATED"), len(lines))
        lines = lines[: first + 1][-last:]
    print("\n".join(lines))
    for invariant, detail in violations:
        print(f"violated: {invariant}: {detail}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
