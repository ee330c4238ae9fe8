"""The fault matrix, grouped by what is broken."""

import importlib
import pkgutil

from faults.playing.scenario import REGISTRY, Scenario


def load() -> dict[str, Scenario]:
    """All scenarios: those of every module here."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return REGISTRY
