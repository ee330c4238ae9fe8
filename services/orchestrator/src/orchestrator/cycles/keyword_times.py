"""Times of a keyword's steps, which a database trigger records (migration 0070). Pure: no I/O, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class KeywordTimes:
    """Times in UTC; None: not reached, or before times were recorded."""

    research_asked: datetime | None = None
    researched: datetime | None = None
    writing_asked: datetime | None = None
    published: datetime | None = None
    ended: datetime | None = None
    posts: Mapping[str, datetime] = field(default_factory=dict)
    """Times by platform."""


_TIMES = TypeAdapter(KeywordTimes)


def read_times(stored: str) -> KeywordTimes:
    """Parses the JSON column; unknown names are left out."""
    return _TIMES.validate_json(stored)
