"""A registry finds the modules of its package."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from integrations.discovery import find_classes, find_entries


class Entry:
    pass


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "fruits"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setitem(sys.modules, "entries_of_test", sys.modules[__name__])
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "fruits"]:
        del sys.modules[name]


def test_each_module_with_an_entry_is_one_in_the_order_of_names(package: Path) -> None:
    for name in ("plum", "apple"):
        (package / f"{name}.py").write_text(f"from entries_of_test import Entry\n{name.upper()} = Entry()\n")
    (package / "peeling.py").write_text("from entries_of_test import Entry\n")
    assert [name for name, _ in find_entries("fruits", Entry)] == ["apple", "plum"]


def test_a_module_with_two_entries_is_refused(package: Path) -> None:
    (package / "plum.py").write_text("from entries_of_test import Entry\nONE, TWO = Entry(), Entry()\n")
    with pytest.raises(TypeError, match=r"fruits\.plum declares 2 of Entry"):
        list(find_entries("fruits", Entry))


def test_each_class_that_a_module_derives_is_found_and_one_that_it_only_imports_is_not(package: Path) -> None:
    (package / "apple.py").write_text("from entries_of_test import Entry\nclass Apple(Entry): ...\n")
    (package / "cake.py").write_text("from fruits.apple import Apple\n")
    assert [found.__name__ for found in find_classes("fruits", Entry)] == ["Apple"]
