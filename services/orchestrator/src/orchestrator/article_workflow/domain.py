"""The id and the address of an article. Pure: no I/O, no clock, no randomness."""

from collections.abc import Set as AbstractSet
from itertools import count
from typing import NewType
from uuid import UUID

ContentId = NewType("ContentId", UUID)


def free_slug(wanted: str, taken: AbstractSet[str]) -> str:
    """Returns `wanted`, or the first of `wanted-2`, `wanted-3`, … that is not taken."""
    if wanted not in taken:
        return wanted
    return next(slug for number in count(2) if (slug := f"{wanted}-{number}") not in taken)
