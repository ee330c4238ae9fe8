"""Each workspace member can be installed alone: one environment for all would hide a dependency it forgot to declare."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MEMBERS = [
    *sorted(path.parent for path in ROOT.glob("*/*/pyproject.toml")),
    ROOT / "cli",
    ROOT / "benchmarks",
]
DISTRIBUTIONS = packages_distributions()


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def project_of(member: Path) -> Mapping[str, Any]:
    project: Mapping[str, Any] = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    return project


def parsed(requirement: str) -> tuple[str, frozenset[str]]:
    """Name and extras of a requirement."""
    match = re.match(r"([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?", requirement)
    assert match, requirement
    return canonical(match[1]), frozenset(filter(None, (match[2] or "").replace(" ", "").split(",")))


def declared(member: Path, extras: frozenset[str] | None = None) -> dict[str, frozenset[str]]:
    """The requirements of a member with some of its extras (None: with all of them), each with its own extras."""
    project = project_of(member)
    optional = project.get("optional-dependencies", {})
    chosen = optional if extras is None else extras
    requirements = [*project["dependencies"], *(each for extra in chosen for each in optional[extra])]
    return {canonical(project["name"]): frozenset(), **dict(map(parsed, requirements))}


@cache
def modules(member: Path) -> Mapping[str, Path]:
    """The files of a member by the dotted names of their modules."""
    source = member / "src"
    return {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): path
        for path in source.rglob("*.py")
    }


@cache
def imported(path: Path) -> frozenset[str]:
    """Dotted names of a file's imports: modules, and the names taken from them, which may be modules as well."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def distributions_of(name: str) -> set[str]:
    module = name.split(".", maxsplit=1)[0]
    return {canonical(each) for each in DISTRIBUTIONS.get(module, [f"brand-engine-{module}"])}


def is_standard(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] in sys.stdlib_module_names


@pytest.mark.extended
@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_every_import_is_declared(member: Path) -> None:
    allowed = set(declared(member))
    own = {path.name for path in (member / "src").iterdir()}
    undeclared = {
        f"{name} in {path.relative_to(member)}"
        for path in modules(member).values()
        for name in imported(path)
        if not is_standard(name)
        and name.partition(".")[0] not in own
        and not allowed & distributions_of(name)
    }
    assert undeclared == set()


def reached(member: Path, others: Mapping[str, Path]) -> Iterator[tuple[Path, str]]:
    """Modules of other members that this one imports, and those that they import in their turn, by member."""
    owners = {name: other for other in others.values() for name in modules(other)}
    waiting = [name for path in modules(member).values() for name in imported(path)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in owners:
            continue
        seen.add(name)
        yield owners[name], name
        # Importing a module runs the packages around it.
        parents = [name.rpartition(".")[0]] if "." in name else []
        waiting += [*parents, *imported(modules(owners[name])[name])]


@pytest.mark.extended
@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_every_extra_that_is_used_is_asked_for(member: Path) -> None:
    """`chassis.http.client` takes httpx, which only `brand-engine-chassis[client]` installs."""
    others = {canonical(project_of(each)["name"]): each for each in MEMBERS if each != member}
    asked = declared(member)
    unasked = {
        f"{needed} for {name}"
        for other, name in reached(member, others)
        for needed in imported(modules(other)[name])
        if not is_standard(needed)
        and not distributions_of(needed)
        & {*declared(other, asked.get(canonical(project_of(other)["name"]), frozenset()))}
    }
    assert unasked == set()
