"""Writes the part of a lock that some packages need, hashes included: one lock for all, and an image with its part only.

    select_requirements.py NAME|FOLDER...  <- requirements.lock in the current folder

A NAME is a package of the lock, a FOLDER a member of this workspace; members that it depends on count too. Who needs
what is read from the `# via` lines under each package. If one were missing, `pip install --require-hashes` would refuse.
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


@dataclass(frozen=True, slots=True)
class Entry:
    """A package of the lock: its lines as they stand there, and the packages that need it."""

    name: str
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


def read_lock(text: str) -> Iterator[Entry]:
    """The packages of a lock, in its order. Comments that begin a line are about the lock as a whole."""
    about_packages = re.sub(r"(?m)^(#.*)?\n", "", text)
    for block in re.split(r"(?m)^(?=\S)", about_packages):
        if block:
            needed_by = re.findall(r"(?m)^ +#(?: +via)? +(\S+)", block)
            yield Entry(name_of(block), block, frozenset(map(canonical, needed_by)))


def members_of(folder: Path) -> set[str]:
    """The names of a member and of the members that it stands on.

    Raises:
        OSError, KeyError, tomllib.TOMLDecodeError: the folder is no member.
    """
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    names = {canonical(project["name"])}
    for requirement in project["dependencies"]:
        if (name := name_of(requirement)).startswith(_OURS):
            names |= members_of(Path("shared") / name.removeprefix(_OURS))
    return names


def select(entries: Iterable[Entry], roots: set[str]) -> list[Entry]:
    """The roots and whatever they need, directly or not, in the lock's order."""
    known = list(entries)
    wanted, before = set(roots), 0
    while len(wanted) != before:
        before = len(wanted)
        wanted |= {entry.name for entry in known if entry.needed_by & wanted}
    return [entry for entry in known if entry.name in wanted]


def main() -> None:
    entries = list(read_lock(LOCK.read_text()))
    locked = {entry.name for entry in entries}
    roots: set[str] = set()
    for argument in sys.argv[1:]:
        if "/" in argument:
            roots |= members_of(Path(argument))
        elif canonical(argument) in locked:
            roots.add(canonical(argument))
        else:
            sys.exit(f"{argument} is not in {LOCK}; a member is named by its folder")
    sys.stdout.write("".join(entry.text for entry in select(entries, roots)))


if __name__ == "__main__":
    main()
