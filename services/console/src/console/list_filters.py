"""The filters of a list, read from its address. Pure: no I/O; the time is an argument."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final, Self
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

AGES: Final = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}
"""What a list can be limited to, by the word in the address."""
PAGE_SIZE: Final = 50
_MAX_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class ListFilter:
    """The filter of a list; empty fields match all items."""

    text: str = ""
    state: str = ""
    age: str = ""
    after: str = ""
    """The cursor of the page."""

    @classmethod
    def of(cls, query: Mapping[str, str], states: Collection[str]) -> Self:
        """Reads an address; values that no link of ours has count as left out."""
        state, age = query.get("state", ""), query.get("age", "")
        return cls(
            " ".join(query.get("q", "").replace("\0", "").split())[:_MAX_TEXT],
            state if state in states else "",
            age if age in AGES else "",
            query.get("after", "")[:_MAX_TEXT],
        )

    @property
    def is_set(self) -> bool:
        return bool(self.text or self.state or self.age)

    def since(self, now: datetime) -> datetime | None:
        """The earliest time of its entries; None: any."""
        return now - AGES[self.age] if self.age else None

    def arguments(self, now: datetime) -> dict[str, Any]:
        """The arguments of a service's list."""
        return {
            "q": self.text or None,
            "state": self.state or None,
            "since": self.since(now),
            "after": self.after or None,
            "limit": PAGE_SIZE,
        }

    def query(self, *, after: object = None, state: str | None = None) -> str:
        """The query of a link to the next page, or to another state from its first page."""
        named = {
            "q": self.text,
            "state": self.state if state is None else state,
            "age": self.age,
            "after": "" if after is None else str(after),
        }
        written = urlencode({name: value for name, value in named.items() if value})
        return f"?{written}" if written else "?"


def safe_link(url: str | None) -> str | None:
    """An address of the outside world for `href`; None for one that is no web address."""
    return url if url is not None and url.startswith(("http://", "https://")) else None


def read_fields(
    query: Mapping[str, str],
    names: Collection[str],
    *,
    choices: Mapping[str, Collection[str]],
    days: Collection[str] = (),
) -> dict[str, str]:
    """Reads fields of an address; values that no link of ours has count as left out.

    Args:
        query: the address's query.
        names: of all fields.
        choices: the values that some fields may have.
        days: fields that hold a day, such as 2026-11-28.
    """
    text = {name: query.get(name, "").replace("\0", "").strip()[:_MAX_TEXT] for name in names}
    strange = [name for name, values in choices.items() if text[name] not in values]
    strange += [name for name in days if read_day(text[name]) is None]
    return text | dict.fromkeys(strange, "")


def read_day(text: str) -> date | None:
    """Reads a day of an address, such as 2026-11-28; None if it is none."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return None
    # Midnight of another zone is still a time.
    return found if date.min.year < found.year < date.max.year else None


def midnight_of(day: date, zone: str) -> datetime:
    """Returns the start of a day in a zone, or in UTC if there is no such zone."""
    try:
        info = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        info = ZoneInfo("UTC")
    return datetime.combine(day, time(), info)
