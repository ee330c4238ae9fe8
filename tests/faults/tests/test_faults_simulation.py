"""The simulation repeats itself, is clean, and finds what is broken on purpose."""

import os
import subprocess
import sys

import pytest

from faults.simulation import fingerprint, run, runs, simulate
from faults.simulation.mutations import MUTATIONS


@pytest.mark.extended
def test_the_core_survives_some_hundred_schedules() -> None:
    summary = run(first_seed=1_000_000, count=300)
    assert summary.failures == []
    assert len(summary.fired) >= 15


@pytest.mark.extended
def test_the_same_seed_is_the_same_schedule_in_any_process() -> None:
    seeds = range(40, 46)
    run(0, 10)
    here = [fingerprint(seed) for seed in seeds]
    program = f"from faults.simulation import fingerprint\nfor seed in {seeds}: print(fingerprint(seed))"
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert there.stdout.split() == here
    assert len(set(here)) == len(here)


@pytest.mark.extended
@pytest.mark.parametrize("mutation", sorted(MUTATIONS))
def test_a_missing_guarantee_is_noticed(mutation: str) -> None:
    summary = run(0, 5_000, mutation=mutation, stop_at_failure=True)
    assert not summary.passed, f"nothing noticed in {summary.schedules} schedules"


def test_afterwards_everything_is_as_it_was() -> None:
    assert run(0, 20).failures == []


@pytest.mark.extended
def test_processes_side_by_side_run_the_same_schedules(monkeypatch) -> None:
    monkeypatch.setattr(runs, "CHUNK", 20)
    alone = simulate(0, 40)
    together = simulate(0, 40, jobs=2)
    assert alone.schedules == together.schedules == 40
    assert alone.fired == together.fired
