"""A seeded simulation of messaging in one process: the real code over a broker and a database that can do anything.

One seed is one schedule: which replicas there are, which messages come, and what breaks at which `await`, under a clock
that jumps. The same seed gives the same schedule, so a failing seed is the bug report.

    python -m faults.simulation --schedules 100000 --jobs 2
    python -m faults.simulation --seed 4711 --schedules 1 --trace
"""

from faults.simulation.runs import RunSummary, ScheduleFailure, fingerprint, run, simulate

__all__ = ["RunSummary", "ScheduleFailure", "fingerprint", "run", "simulate"]
