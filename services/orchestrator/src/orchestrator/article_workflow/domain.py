"""The id and the address of an article, and what its brand asks of it. Pure: no I/O, no clock, no randomness."""

from collections.abc import Set as AbstractSet
from dataclasses import fields
from itertools import count
from typing import NewType
from uuid import UUID

from envelope.brand.settings import BrandSettings
from writing.article import BrandWishes

ContentId = NewType("ContentId", UUID)


def free_slug(wanted: str, taken: AbstractSet[str]) -> str:
    """Returns `wanted`, or the first of `wanted-2`, `wanted-3`, … that is not taken."""
    if wanted not in taken:
        return wanted
    return next(slug for number in count(2) if (slug := f"{wanted}-{number}") not in taken)


def wishes_of(settings: BrandSettings) -> BrandWishes:
    """Returns what the settings of a brand ask of its articles."""
    return BrandWishes(**{each.name: getattr(settings, each.name) for each in fields(BrandWishes)})
