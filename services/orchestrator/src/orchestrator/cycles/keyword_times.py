"""When what happened to a keyword, as a trigger of the database notes it (migration 0070). Pure: no I/O, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class KeywordTimes:
    """In UTC; None: it has not happened, or happened before times were kept."""

    research_asked: datetime | None = None
    researched: datetime | None = None
    writing_asked: datetime | None = None
    published: datetime | None = None
    ended: datetime | None = None
    posts: Mapping[str, datetime] = field(default_factory=dict)
    """By platform."""


_TIMES = TypeAdapter(KeywordTimes)


def read_times(stored: str) -> KeywordTimes:
    """The times of the column, which is JSON; names that this version does not know are left out."""
    return _TIMES.validate_json(stored)
