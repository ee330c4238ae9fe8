"""Which code a service runs: its version, and a hash of its source.

A dead letter has both, so that an operator sees whether the code that failed has changed since.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_LIBRARY: Final = ("messaging", "chassis", "envelope")
_SUFFIXES: Final = frozenset({".py", ".j2", ".toml"})
"""Code, and the templates and tables that it reads."""
_MOST_PACKAGES: Final = 50
_MOST_FILES: Final = 5_000
_LARGEST_BYTES: Final = 1_000_000
_HASH_CHARACTERS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class RunningCode:
    """The code of one service.

    Attributes:
        hash: 16 hexadecimal digits; equal for equal source files. Empty if the service's package is not installed.
        version: of its distribution; empty if there is none.
    """

    hash: str
    version: str


@cache
def running_code(system: str, service: str) -> RunningCode:
    """Reads the source of the service once for each process, in well under 100 ms.

    It covers the service's package, this library, and the packages of the same system that the service requires: an error may be mended
    in any of them. So it also changes with a comment. What other people's packages do is not part of it.
    """
    return RunningCode(_hash(system, service), _version(f"{system}-{service}"))


def _hash(system: str, service: str) -> str:
    if find_spec(_module(service)) is None:
        return ""
    digest = hashlib.sha256(service.encode())
    files = 0
    for package in sorted({*_LIBRARY, *_packages(system, service)}):
        spec = find_spec(package)
        for folder in [] if spec is None else spec.submodule_search_locations or []:
            for path in sorted(Path(folder).rglob("*")):
                if path.suffix not in _SUFFIXES or files >= _MOST_FILES or not path.is_file():
                    continue
                files += 1
                with path.open("rb") as file:
                    source = file.read(_LARGEST_BYTES)
                name = f"{package}/{path.relative_to(folder).as_posix()}"
                digest.update(f"\x00{name}\x00{len(source)}\x00".encode())
                digest.update(source)
    return digest.hexdigest()[:_HASH_CHARACTERS]


def _packages(system: str, service: str) -> set[str]:
    """The packages of the system that the service requires, itself included."""
    prefix = f"{_normal(system)}-"
    found: set[str] = set()
    waiting = [_normal(service)]
    while waiting and len(found) < _MOST_PACKAGES:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        try:
            needed = requires(prefix + name) or []
        except PackageNotFoundError:
            continue
        for requirement in needed:
            match = _NAME.match(requirement)
            required = "" if match is None else _normal(match.group())
            if required.startswith(prefix):
                waiting.append(required.removeprefix(prefix))
    return {_module(name) for name in found}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _module(name: str) -> str:
    return name.replace("-", "_")


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
