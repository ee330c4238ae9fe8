"""A registry is a package: each of its modules declares one entry."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import TypeVar

EntryT = TypeVar("EntryT")


def find_entries(package: str, entry_type: type[EntryT]) -> Iterator[tuple[str, EntryT]]:
    """Yields the entry that each module of a package declares, with the module's name, in the order of the names.

    An entry is the module's only constant of that type, made there or not. A module without one is no entry's: it
    holds what the others share.

    Raises:
        TypeError: a module declares two.
    """
    for name, module in _modules(package):
        found = [each for each in vars(module).values() if isinstance(each, entry_type)]
        yield from ((name, each) for each in _at_most_one(module, found, entry_type))


def find_classes(package: str, parent: type[EntryT]) -> Iterator[type[EntryT]]:
    """Yields the class that each module of a package derives from `parent`, in the order of the modules' names.

    Raises:
        TypeError: a module derives two.
    """
    for _, module in _modules(package):
        found = [
            each
            for each in vars(module).values()
            if isinstance(each, type) and issubclass(each, parent) and each.__module__ == module.__name__
        ]
        yield from _at_most_one(module, found, parent)


def _modules(package: str) -> Iterator[tuple[str, ModuleType]]:
    paths = importlib.import_module(package).__path__
    for name in sorted(module.name for module in pkgutil.iter_modules(paths)):
        yield name, importlib.import_module(f"{package}.{name}")


def _at_most_one(module: ModuleType, found: list[EntryT], wanted: type[object]) -> list[EntryT]:
    if len(found) > 1:
        raise TypeError(f"{module.__name__} declares {len(found)} of {wanted.__name__}: keep one a module")
    return found
