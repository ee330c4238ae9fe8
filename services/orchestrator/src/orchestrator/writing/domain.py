"""What an article is called. Pure: no I/O, no clock, no randomness."""

from collections.abc import Set as AbstractSet
from itertools import count
from typing import NewType
from uuid import UUID

ContentId = NewType("ContentId", UUID)


def free_slug(wanted: str, taken: AbstractSet[str]) -> str:
    """`wanted`, or `wanted-2`, `wanted-3`, … : the first that is not taken."""
    if wanted not in taken:
        return wanted
    return next(slug for number in count(2) if (slug := f"{wanted}-{number}") not in taken)
