"""Each workspace member can be installed alone: one environment for all would hide a dependency it forgot to declare."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEMBERS = [
    *sorted(path.parent for path in ROOT.glob("*/*/pyproject.toml")),
    ROOT / "cli",
    ROOT / "benchmarks",
]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(member: Path) -> set[str]:
    project = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    names = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in project["dependencies"])
    return {canonical(name.group()) for name in names if name} | {canonical(project["name"])}


def imported(member: Path) -> Iterator[tuple[str, Path]]:
    for path in (member / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((alias.name.split(".")[0], path) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.split(".")[0], path


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_every_import_is_declared(member: Path) -> None:
    distributions = packages_distributions()
    allowed = declared(member)
    own = {path.name for path in (member / "src").iterdir()}
    undeclared = {
        f"{module} in {path.relative_to(member)}"
        for module, path in imported(member)
        if module not in sys.stdlib_module_names | own
        and not allowed & {canonical(name) for name in distributions.get(module, [f"brand-engine-{module}"])}
    }
    assert undeclared == set()
