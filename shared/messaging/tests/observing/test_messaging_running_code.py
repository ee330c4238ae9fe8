"""The hash of a service's source changes with its code, and with nothing else."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envelope.brand import CATALOGUE
from messaging.running_code import running_code

SYSTEM = "someones_system"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed service with one module, in a folder of its own."""
    folder = tmp_path / "tallying"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "handlers.py").write_text("def tally(): return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    sys.modules.pop("tallying", None)
    running_code.cache_clear()


def fresh_hash(service: str = "tallying") -> str:
    """As a process finds it that starts now."""
    running_code.cache_clear()
    return running_code(SYSTEM, service).hash


def test_the_hash_is_that_of_the_source(package: Path) -> None:
    first = fresh_hash()
    assert len(first) == 16
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "handlers.cpython-311.pyc").write_bytes(b"compiled")
    (package / "notes.txt").write_text("read by nobody")
    assert fresh_hash() == first
    (package / "handlers.py").write_text("def tally(): return 2\n")
    mended = fresh_hash()
    assert mended != first
    (package / "handlers.py").rename(package / "others.py")
    assert fresh_hash() not in {first, mended}


def test_a_process_keeps_the_hash_of_what_it_began_with(package: Path) -> None:
    first = fresh_hash()
    (package / "handlers.py").write_text("def tally(): return 2\n")
    assert running_code(SYSTEM, "tallying").hash == first


def test_services_differ_and_one_that_is_not_installed_has_none() -> None:
    ours = [running_code(CATALOGUE.system, each) for each in ("research", "publisher")]
    assert len({each.hash for each in ours}) == 2
    assert all(each.version for each in ours)
    assert running_code(SYSTEM, "no_such_service").hash == ""


def test_a_change_in_a_package_of_the_system_counts(monkeypatch: pytest.MonkeyPatch, package: Path) -> None:
    """The service's distribution requires another one of the system."""
    site = package.parent
    for name, requirement in (("tallying", "Requires-Dist: someones-system-adding>=1\n"), ("adding", "")):
        metadata = site / f"someones_system_{name}-1.2.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: someones-system-{name}\nVersion: 1.2\n{requirement}"
        )
    (site / "adding").mkdir()
    (site / "adding" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(site))
    first = fresh_hash()
    assert running_code(SYSTEM, "tallying").version == "1.2"
    (site / "adding" / "__init__.py").write_text("def add(): ...\n")
    assert fresh_hash() != first
