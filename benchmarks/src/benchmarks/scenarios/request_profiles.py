"""What one of many equal requests costs, function by function, in a run of its own since profiling costs time."""

from collections.abc import Callable, Sequence

from benchmarks.errors import MeasurementError
from benchmarks.reporting import steps
from benchmarks.reporting.results import ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.systems import profiler


def profile(run: BenchmarkRun, row: ResultRow, pids: Sequence[int], work: Callable[[], int]) -> None:
    """Adds to the row what a request costs these processes; writes build/SCENARIO-functions.txt. Nothing without py-spy.

    Args:
        run: the run.
        row: of the requests.
        pids: the processes that answer them.
        work: makes the requests; returns their number.
    """
    try:
        with profiler.sampled(pids, run.nodes.folder) as lines:
            before = run.nodes.cpu(list(pids))
            requests = work()
            spent = (run.nodes.cpu(list(pids)) - before).per_thousand(requests)
    except MeasurementError as error:
        run.log(f"{row.scenario} has no profile: {error}")
        return
    row.extra |= steps.account(lines, spent)
    run.keep(f"{row.scenario}-functions.txt", steps.all_functions(steps.read(lines), spent["python"]))
