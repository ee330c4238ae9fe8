"""An image gets what its service needs from the one lock, and nothing else."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from brandctl.local.services import PROCESSES
from envelope.brand import SERVICES

ROOT = Path(__file__).parents[2]
OURS = "brand-engine-"


def selection(*arguments: str) -> str:
    command = [sys.executable, "-I", "deploy/images/select_requirements.py", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def names(requirements: str) -> set[str]:
    lines = (line for line in requirements.splitlines() if line and line[0].isalnum())
    return {canonicalize_name(Requirement(line.rstrip("\\")).name) for line in lines}


def needed(package: str, extras: frozenset[str] = frozenset(), seen: set[str] | None = None) -> set[str]:
    """The requirements of the installed package here, by its own metadata; our packages are followed and left out."""
    seen = set() if seen is None else seen
    for text in distribution(package).requires or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        name = canonicalize_name(requirement.name)
        if name not in seen or requirement.extras:
            seen.add(name)
            needed(name, frozenset(requirement.extras), seen)
    return {name for name in seen if not name.startswith(OURS)}


@pytest.mark.extended
@pytest.mark.parametrize("service", PROCESSES)
def test_everything_that_a_service_needs_is_selected(service: str) -> None:
    assert needed(f"{OURS}{service}") <= names(selection(f"services/{service}"))


@pytest.mark.parametrize("service", PROCESSES)
def test_nothing_for_tests_or_of_other_services_is_selected(service: str) -> None:
    strangers = {"pytest", "hypothesis", "ruff", "mypy", "hatchling", "playwright", "typer", "rich"}
    assert names(selection(f"services/{service}")) & strangers == set()


@pytest.mark.extended
@pytest.mark.parametrize(
    ("package", "having"),
    [
        (
            "fastapi",
            {"orchestrator", "publisher", "research", "social", "monitor", "events", "gateway", "console"},
        ),
        ("httpx", {"gateway", "console"}),
        ("lxml", {"research"}),
        ("protego", {"gateway"}),
    ],
)
def test_services_differ_in_what_they_get(package: str, having: set[str]) -> None:
    assert {service for service in PROCESSES if package in names(selection(f"services/{service}"))} == having


def test_what_all_services_share_is_without_extras() -> None:
    assert names(selection("shared/messaging")) & {"fastapi", "httpx", "jinja2"} == set()


@pytest.mark.extended
@pytest.mark.parametrize("service", PROCESSES)
def test_what_is_there_already_is_left_out(service: str) -> None:
    shared, whole = names(selection("shared/messaging")), names(selection(f"services/{service}"))
    assert names(selection(f"services/{service}", "--without", "shared/messaging")) == whole - shared
    # One that takes no messages has the library unused in its image.
    assert shared <= whole or service not in SERVICES


def test_every_selected_package_keeps_its_version_and_hashes() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    selected = selection("services/research", "hatchling")
    assert "hatchling" in names(selected)
    for block in re.split(r"(?m)^(?=\w)", selected):
        assert block in lock
    assert selected.count("==") <= selected.count("--hash=sha256:")


def test_a_package_that_the_lock_does_not_have_is_refused() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        selection("left-pad")
    assert "left-pad is not in requirements.lock" in refused.value.stderr


def test_what_only_tests_need_is_taken_out_and_nothing_else(tmp_path: Path) -> None:
    kept = (
        "chassis/app.py",
        "faststream/_internal/testing/broker.py",
        "library/testing.py",
        "library/contests/x.py",
    )
    gone = (
        *("chassis/testing/apps.py", "messaging/testing/__pycache__/broker.pyc", "receipts/testing.py"),
        *(
            "receipts/__pycache__/testing.cpython-313.pyc",
            "library/tests/x.py",
            "library/inner/tests/tests/x.py",
        ),
    )
    for name in (*kept, *gone):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    command = [sys.executable, "-I", "deploy/images/remove_tests.py", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*") if path.is_file()} == set(kept)


def test_nothing_of_ours_needs_what_is_taken_out() -> None:
    packages = "|".join(path.name for path in (ROOT / "shared").iterdir())
    of_tests = re.compile(rf"^\s*(?:from|import) (?:{packages})\.testing\b", re.MULTILINE)
    for source in (
        *ROOT.glob("shared/*/src/**/*.py"),
        *ROOT.glob("services/*/src/**/*.py"),
        *ROOT.glob("cli/src/**/*.py"),
    ):
        if "testing" not in source.parts and source.name != "testing.py":
            assert not of_tests.search(source.read_text()), source


def test_an_image_has_the_members_that_its_service_names_and_no_others() -> None:
    command = [sys.executable, "-I", "deploy/images/select_requirements.py", "--members", "services/social"]
    named = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    project = tomllib.loads((ROOT / "services/social/pyproject.toml").read_text())["project"]
    ours = re.findall(r"brand-engine-([a-z-]+)", " ".join(project["dependencies"]))
    assert named[-1] == "services/social"
    assert set(named[:-1]) == {f"shared/{name}" for name in ours}
    assert named.index("shared/chassis") < named.index("shared/messaging") < named.index("shared/receipts")
