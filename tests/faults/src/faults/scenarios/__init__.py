"""The fault matrix, grouped by what is broken."""

import importlib
import pkgutil
from collections.abc import Iterable, Sequence

from faults.playing.scenario import REGISTRY, Scenario


class UnknownScenarioError(Exception):
    """A name that no scenario has; the message lists those that there are."""


def load() -> dict[str, Scenario]:
    """All scenarios: those of every module here and below."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return REGISTRY


def choose(known: Iterable[Scenario], names: Sequence[str]) -> list[Scenario]:
    """The scenarios whose names contain one of the names, in the order of the matrix; upper and lower case are the same.

    An entry may hold several names between semicolons, as `make` hands over one argument. Commas are part of names.

    Raises:
        UnknownScenarioError: no scenario contains one of the names.
    """
    listed = list(known)
    wanted = [name.strip().lower() for entry in names for name in entry.split(";") if name.strip()]
    unknown = [name for name in wanted if not any(name in each.name.lower() for each in listed)]
    if unknown or not wanted:
        quoted = " or ".join(f"'{name}'" for name in unknown or names)
        raise UnknownScenarioError(
            f"no scenario's name contains {quoted}; there are:"
            + "".join(f"\n  {each.name}" for each in listed)
        )
    return [each for each in listed if any(name in each.name.lower() for name in wanted)]
