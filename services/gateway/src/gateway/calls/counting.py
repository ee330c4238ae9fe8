"""Counts of calls since the process began, made where calls end."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

ANSWERED: Final = "answered"
PRESUMED: Final = "presumed"
"""Its process died, and nobody heard how it ended."""


@dataclass(slots=True)
class CallCounts:
    """By account, and by how a call ended: `answered`, `presumed`, or the type of the problem."""

    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    """Micro-dollars by account."""
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By account and problem: what was refused before anything was set aside for it."""

    def note_end(self, provider: str, outcome: dict[str, Any], spent: int) -> None:
        """`outcome` is what is kept of the call."""
        problem = outcome.get("problem")
        self.ended[provider, problem["type"] if problem else ANSWERED] += 1
        self.spent[provider] += spent

    def note_presumed(self, provider: str, spent: int) -> None:
        self.ended[provider, PRESUMED] += 1
        self.spent[provider] += spent
