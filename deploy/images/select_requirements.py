"""Writes the part of a lock that some packages need, hashes included: one lock for all, and an image with its part only.

    select_requirements.py NAME|FOLDER... [--without NAME|FOLDER...]  <- requirements.lock in the current folder
    select_requirements.py --members FOLDER                           the folders of this workspace that it consists of

A NAME is a package of the lock, a FOLDER a member of this workspace. What a member needs stands in its pyproject.toml, and
in those of the members that it names, with the extras it names them with: `brand-engine-chassis[api]`. What those
packages need in their turn is read from the `# via` lines under each package of the lock. What follows `--without`
is there already: it is left out, with all that it needs.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LOCK: Final = Path("requirements.lock")
_OURS: Final = "brand-engine-"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRAS: Final = re.compile(r"[A-Za-z0-9._-]+\s*\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class LockedRequirement:
    """A package of the lock, with its lines and the packages that need it."""

    name: str
    version: str
    text: str
    needed_by: frozenset[str]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    """`aio-pika` of `aio-pika>=10.2,<11`.

    Raises:
        ValueError: it begins with no name.
    """
    match = _NAME.match(requirement)
    if match is None:
        raise ValueError(f"{requirement!r} names no package")
    return canonical(match.group())


def extras_of(requirement: str) -> set[str]:
    """`api` and `client` of `brand-engine-chassis[api,client]`."""
    match = _EXTRAS.match(requirement)
    return {canonical(extra.strip()) for extra in match.group(1).split(",")} if match else set()


def read_lock(text: str) -> Iterator[LockedRequirement]:
    """The packages of a lock, in its order. Comments that begin a line are about the lock as a whole."""
    about_packages = re.sub(r"(?m)^(#.*)?\n", "", text)
    for block in re.split(r"(?m)^(?=\S)", about_packages):
        if block:
            needed_by = re.findall(r"(?m)^ +#(?: +via)? +(\S+)", block)
            version = block.split()[0].partition("==")[2]
            yield LockedRequirement(name_of(block), version, block, frozenset(map(canonical, needed_by)))


def _requirements_of(folder: Path, extras: Iterable[str]) -> list[str]:
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    optional = {canonical(name): wanted for name, wanted in project.get("optional-dependencies", {}).items()}
    return [*project.get("dependencies", ()), *(each for extra in extras for each in optional[extra])]


def _member_of(requirement: str) -> Path | None:
    """The folder of a requirement that is a member of this workspace."""
    name = name_of(requirement)
    return Path("shared") / name.removeprefix(_OURS) if name.startswith(_OURS) else None


def needs_of(folder: Path, extras: Iterable[str] = ()) -> set[str]:
    """Returns the packages that a member needs, directly, by extras, or through other members.

    Raises:
        OSError, KeyError, tomllib.TOMLDecodeError: the folder is no member, or has no such extra.
    """
    needs: set[str] = set()
    for requirement in _requirements_of(folder, extras):
        if (member := _member_of(requirement)) is not None:
            needs |= needs_of(member, extras_of(requirement))
        else:
            needs.add(name_of(requirement))
    return needs


def members_of(folder: Path, extras: Iterable[str] = ()) -> dict[Path, None]:
    """Returns the members that a member consists of, itself last, in an order in which each follows what it needs."""
    members: dict[Path, None] = {}
    for requirement in _requirements_of(folder, extras):
        if (member := _member_of(requirement)) is not None:
            members |= members_of(member, extras_of(requirement))
    return members | {folder: None}


def select(entries: Iterable[LockedRequirement], roots: set[str]) -> list[LockedRequirement]:
    """Returns the roots and all that they need, directly or not, in the lock's order."""
    known = list(entries)
    wanted, before = set(roots), 0
    while len(wanted) != before:
        before = len(wanted)
        wanted |= {entry.name for entry in known if entry.needed_by & wanted}
    return [entry for entry in known if entry.name in wanted]


def roots_of(arguments: Iterable[str], locked: set[str]) -> set[str]:
    """The packages that arguments name, directly or as what a member asks for."""
    roots: set[str] = set()
    for argument in arguments:
        if "/" in argument:
            roots |= needs_of(Path(argument))
        elif canonical(argument) in locked:
            roots.add(canonical(argument))
        else:
            sys.exit(f"{argument} is not in {LOCK}; a member is named by its folder")
    return roots


def main() -> None:
    wanted, there = sys.argv[1:], []
    if wanted[:1] == ["--members"]:
        sys.stdout.write(" ".join(map(str, members_of(Path(wanted[1])))))
        return
    entries = list(read_lock(LOCK.read_text()))
    locked = {entry.name for entry in entries}
    if "--without" in wanted:
        at = wanted.index("--without")
        wanted, there = wanted[:at], wanted[at + 1 :]
    left_out = select(entries, roots_of(there, locked))
    selected = select(entries, roots_of(wanted, locked))
    sys.stdout.write("".join(entry.text for entry in selected if entry not in left_out))


if __name__ == "__main__":
    main()
