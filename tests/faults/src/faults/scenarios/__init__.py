"""The fault matrix, grouped by what is broken."""

import importlib
import pkgutil

from faults.playing.scenario import REGISTRY, Scenario


def load() -> dict[str, Scenario]:
    """All scenarios: those of every module here and below."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return REGISTRY
