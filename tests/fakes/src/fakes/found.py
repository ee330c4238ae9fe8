"""Finds the modules of this package, and what each declares: a fake, the cases of its channel, its place in fault tests."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

import fakes
from fakes.serving.cases import ChannelCase, EffectPlace

_Declared = TypeVar("_Declared")


def modules() -> Mapping[str, str]:
    """Where the fake of each name is: a file of this package, or of a room of it."""
    found = pkgutil.walk_packages(fakes.__path__, "fakes.")
    return {
        each.name.rpartition(".")[2]: each.name
        for each in found
        if not each.ispkg
        and each.name != __name__
        and not each.name.startswith("fakes.serving.")
        and "._" not in each.name
    }


def _declared(name: str, kind: type[_Declared]) -> Iterator[_Declared]:
    for where in modules().values():
        found = getattr(importlib.import_module(where), name, ())
        yield from [found] if isinstance(found, kind) else found


CASES: Final[tuple[ChannelCase, ...]] = tuple(_declared("CASES", ChannelCase))
"""Of all channels."""
PLACES: Final[tuple[EffectPlace, ...]] = tuple(_declared("PLACE", EffectPlace))
"""All channels and kinds of sites that are played here."""
