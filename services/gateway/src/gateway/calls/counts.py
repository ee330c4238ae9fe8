"""Counts calls since the process began."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

ANSWERED: Final = "answered"
PRESUMED: Final = "presumed"
"""The process died before the answer came."""


@dataclass(slots=True)
class CallCounts:
    """By account and result: `answered`, `presumed`, or the type of the problem."""

    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    """Micro-dollars by account."""
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Refusals before any money was set aside, by account and problem."""

    def note_end(self, provider: str, outcome: dict[str, Any], spent: int) -> None:
        """Counts a call that ended; `outcome` is its stored outcome."""
        problem = outcome.get("problem")
        self.ended[provider, problem["type"] if problem else ANSWERED] += 1
        self.spent[provider] += spent

    def note_presumed(self, provider: str, spent: int) -> None:
        self.ended[provider, PRESUMED] += 1
        self.spent[provider] += spent
