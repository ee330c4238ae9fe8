"""A module can be read after those that it imports.

Circles between the rooms of a package (two folders that use each other, whichever of their modules do) are import-linter's
to find, in `make lint`; here are those between modules, wherever they are, and whether the linter looks at every package.
"""

import ast
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
SOURCES = [
    ROOT,
    *(path for pattern in PROJECT["ruff"]["src"] if pattern != "." for path in ROOT.glob(pattern)),
]
"""Folders that modules are imported from."""


def python_files(folder: Path) -> Iterator[Path]:
    """All of ours: neither environments, which begin with a dot, nor what was built."""
    for path in folder.iterdir():
        if path.is_dir() and path.name != "build" and not path.name.startswith("."):
            yield from python_files(path)
        elif path.suffix == ".py":
            yield path


FILES = sorted(python_files(ROOT))


def name_of(path: Path) -> str:
    """As the module is imported: from the nearest folder that modules are imported from."""
    source = max((each for each in SOURCES if path.is_relative_to(each)), key=lambda each: len(each.parts))
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


def imported_by(name: str) -> Iterator[str]:
    """Modules of ours, whether they are imported at the start, in a function or for annotations only."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                module = f"{origin}.{alias.name}"
                found = module if module in MODULES else origin
                # A package that names one of its own modules does not import itself.
                if found in MODULES and found != name:
                    yield found


@pytest.mark.extended
def test_no_module_imports_itself_in_a_circle() -> None:
    imports = TopologicalSorter({name: set(imported_by(name)) for name in MODULES})
    try:
        imports.prepare()
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise AssertionError(
            f"{circle}. Move what both need into a module below them; where one needs the other for annotations only, "
            "a Protocol of what it asks of it; where a registry imports what registers with it, let the latter be "
            "imported by who wants all of it. An import inside a function hides a circle and counts as one."
        ) from None


def test_the_linter_looks_for_circles_between_the_rooms_of_every_package() -> None:
    packages = {path.parent.name for path in FILES if path.match("src/*/__init__.py")}
    linter = PROJECT["importlinter"]
    circles = next(each for each in linter["contracts"] if each["type"] == "acyclic_siblings")
    assert set(linter["root_packages"]) == packages, "name every package in root_packages, in pyproject.toml"
    assert set(circles["ancestors"]) == packages, (
        "name every package in the contract on circles, in pyproject.toml"
    )
