"""The offset of another server's clock, from its responses: https://www.rfc-editor.org/rfc/rfc9110#field.date."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final, Self

_WHOLE_SECONDS: Final = timedelta(seconds=1)
"""The header `Date` has no fractions of a second."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """Bounds of the offset: the other server's time less ours; negative if its clock is behind."""

    least: timedelta
    most: timedelta

    @classmethod
    def measured(cls, headers: Mapping[str, str], asked_at: datetime, answered_at: datetime) -> Self | None:
        """Measures with a response that was written between two of our times; None if it has no date.

        Args:
            headers: of the response, names in lower case.
            asked_at: our time before the request left.
            answered_at: our time after the response arrived.
        """
        if headers.get("age", "0").strip() != "0":
            return None  # from a cache, which keeps the date of the first answer
        try:
            date = parsedate_to_datetime(headers["date"])
        except (KeyError, ValueError):
            return None
        if date.tzinfo is None:
            return None
        return cls(date - answered_at, date + _WHOLE_SECONDS - asked_at)

    @property
    def largest(self) -> timedelta:
        """The absolute offset at most."""
        return max(abs(self.least), abs(self.most))
