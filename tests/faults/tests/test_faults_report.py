"""The report and the command line around the matrix."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from faults import scenarios
from faults.judging import report
from faults.judging.checker import Violation
from faults.judging.results import ScenarioResult

PASSED = ScenarioResult("kill", fired=1, submitted=3, effects=2, in_doubt=1, seconds_to_heal=1.5)
FAILED = ScenarioResult(
    "[cut]", fired=0, submitted=3, lost=1, violations=(Violation(1, "accepted and then lost: 1 (a)"),)
)
SKIPPED = ScenarioResult("disk full", fired=0, skipped="only root may mount a small disk to fill")


def test_the_report_has_one_object_per_scenario_played(tmp_path: Path) -> None:
    path = tmp_path / "build" / "faults.json"
    report.write(path, [PASSED, FAILED, SKIPPED])
    first, second = json.loads(path.read_text())
    assert first == {
        "fault": "kill",
        "fired": 1,
        "submitted": 3,
        "effects": 2,
        "dead_letters": 0,
        "lost": 0,
        "duplicated": 0,
        "seconds_to_heal": 1.5,
        "passed": True,
    }
    assert (second["fault"], second["lost"], second["passed"]) == ("[cut]", 1, False)


def test_people_are_shown_what_went_wrong_and_what_was_left_out() -> None:
    console = Console(file=io.StringIO(), width=120)
    report.show(console, [PASSED, FAILED, SKIPPED])
    shown = console.file.getvalue()
    assert "[cut]: [1] accepted and then lost: 1 (a)" in shown
    assert "disk full was not played: only root may mount" in shown


def test_scenarios_have_short_names_and_say_what_they_break() -> None:
    for each in scenarios.load().values():
        assert len(each.name) <= 45, each.name
        assert each.breaks
        assert each.faults


def faults(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "faults", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.extended
def test_the_list_teaches_the_names() -> None:
    answer = faults("--list")
    assert answer.returncode == 0
    for name in scenarios.load():
        assert name in answer.stdout


@pytest.mark.extended
@pytest.mark.parametrize("arguments", [("--only", "no such thing"), ("--minutes", "soon")])
def test_what_cannot_be_played_is_refused(arguments: tuple[str, ...]) -> None:
    answer = faults(*arguments)
    assert answer.returncode not in {0, -9}
    assert "no scenario's name contains" in answer.stderr or "invalid float" in answer.stderr


def test_several_scenarios_are_chosen_by_one_argument_and_an_unknown_one_is_named() -> None:
    known = scenarios.load()
    chosen = scenarios.choose(known.values(), ["Disk Full; outside effects, worker killed;", "memory alarm"])
    assert [each.name for each in chosen] == ["memory alarm", "disk full", "outside effects, worker killed"]

    with pytest.raises(scenarios.UnknownScenarioError, match=r"contains 'no such thing'; there are:\n  \w"):
        scenarios.choose(known.values(), ["disk full; no such thing"])
