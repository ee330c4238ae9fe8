"""A registry is a package: each of its modules declares one entry."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import TypeVar

EntryT = TypeVar("EntryT")


def find_entries(package: str, entry_type: type[EntryT]) -> Iterator[tuple[str, EntryT]]:
    """Yields the entry that each module of a package declares, with the module's name, in the order of the names.

    An entry is the module's only constant of that type, made there or not. A module without one is no entry's: it
    holds what the others share.

    Raises:
        TypeError: a module declares two.
    """
    paths = importlib.import_module(package).__path__
    for name in sorted(module.name for module in pkgutil.iter_modules(paths)):
        module = importlib.import_module(f"{package}.{name}")
        found = [each for each in vars(module).values() if isinstance(each, entry_type)]
        if len(found) > 1:
            raise TypeError(
                f"{package}.{name} declares {len(found)} of {entry_type.__name__}: keep one a module"
            )
        yield from ((name, each) for each in found)
