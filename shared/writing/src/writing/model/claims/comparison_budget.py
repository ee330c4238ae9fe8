"""Limits the comparisons of a check. It counts steps and not time, so that the same input always ends the same way. Pure."""

from typing import Final

PASSAGE_STEPS: Final = 100_000
"""The most comparisons of one sentence with one passage.

Honest sentences take some hundreds. A passage that takes more repeats itself so much that it proves nothing.
"""
CHECK_STEPS: Final = 6 * PASSAGE_STEPS
"""The most comparisons of one sentence with all passages that it may cite."""


class TooMuchWorkError(Exception):
    """The comparison ran out of steps without a result."""


class ComparisonBudget:
    """Counts comparisons of words, and raises when they exceed the limit."""

    def __init__(self, steps: int = PASSAGE_STEPS) -> None:
        self._steps = steps
        self._whole: ComparisonBudget | None = None
        self.spent = 0

    def part(self, steps: int) -> "ComparisonBudget":
        """Returns a budget of at most `steps` of the remaining ones; its spending also counts here."""
        part = ComparisonBudget(min(steps, self._steps - self.spent))
        part._whole = self
        return part

    def spend(self, steps: int) -> None:
        """Counts steps; call it before the comparison.

        Raises:
            TooMuchWorkError: fewer steps are left.
        """
        if self.spent + steps > self._steps:
            raise TooMuchWorkError
        self.spent += steps
        if self._whole is not None:
            self._whole.spent += steps
