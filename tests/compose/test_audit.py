"""`make audit` fails for an advisory, and for nothing that is missing; an image's packages are listed without a network."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brandctl.local.services import PROCESSES

ROOT = Path(__file__).parents[2]

TOOL = """#!/bin/sh
# Stands in for the tool: writes the report that it is given, if any, to where it is told.
{first}
while [ "$1" != --output ]; do shift; done
[ -z "$REPORT" ] || printf %s "$REPORT" >"$2"
echo "no such host" >&2
exit 1
"""


def audit(folder: Path, report: Any = None, *, first: str = ":") -> subprocess.CompletedProcess[str]:
    tool = folder / "uv"
    tool.write_text(TOOL.format(first=first))
    tool.chmod(0o755)
    told = "" if report is None else json.dumps({"dependencies": report})
    return subprocess.run(
        [sys.executable, ROOT / "deploy/images/audit.py"],
        env=os.environ | {"UV": str(tool), "REPORT": told, "AUDIT_SECONDS": "2"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def package(name: str, *advisories: str) -> dict[str, Any]:
    vulns = [{"id": each, "fix_versions": ["9.9"]} for each in advisories]
    return {"name": name, "version": "1.0", "vulns": vulns}


def test_an_advisory_is_named_and_fails(tmp_path: Path) -> None:
    done = audit(tmp_path, [package("sound"), package("holey", "GHSA-1", "GHSA-2")])
    assert done.returncode == 1
    assert "holey 1.0: GHSA-1, fixed in 9.9" in done.stdout
    assert "holey 1.0: GHSA-2, fixed in 9.9" in done.stdout


def test_without_any_all_is_well(tmp_path: Path) -> None:
    done = audit(tmp_path, [package("sound"), package("safe")])
    assert done.returncode == 0
    assert "2 packages audited, no known vulnerability" in done.stdout


@pytest.mark.extended
@pytest.mark.parametrize(
    ("report", "first", "said"),
    [
        (None, ":", "the tool or the network is missing: no such host"),
        (None, "exec sleep 30", "timed out after 2"),
        ([{"name": "a", "skip_reason": "unknown"}], ":", "the index has no advisories for 1 of"),
    ],
)
def test_what_could_not_be_looked_up_is_said_and_does_not_fail(
    tmp_path: Path, report: Any, first: str, said: str
) -> None:
    done = audit(tmp_path, report, first=first)
    assert done.returncode == 0
    assert "NOT AUDITED" in done.stdout
    assert said in done.stdout
    assert "no known vulnerability" not in done.stdout


def test_a_tool_that_is_not_there_is_no_failure_either(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "deploy/images/audit.py"],
        env=os.environ | {"UV": str(tmp_path / "nowhere")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "NOT AUDITED" in done.stdout


@pytest.mark.extended
def test_the_bill_of_an_image_has_what_is_installed_into_it(tmp_path: Path) -> None:
    audit(tmp_path, [])
    for image, folder in {**{name: f"services/{name}" for name in PROCESSES}, "brandctl": "./cli"}.items():
        command = [sys.executable, "-I", "deploy/images/select_requirements.py", folder]
        selected = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        pinned = {line.split()[0] for line in selected.splitlines() if line[:1].isalnum()}
        bill = json.loads((ROOT / f".local/sbom/{image}.cdx.json").read_text())
        assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
        assert {f"{each['name']}=={each['version']}" for each in bill["components"]} == pinned
        assert all(each["purl"].startswith("pkg:pypi/") for each in bill["components"])
