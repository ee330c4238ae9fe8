"""How much a check may compare before it gives up. Counted in comparisons, so that the same input always ends the same way. Pure."""

from typing import Final

PASSAGE_STEPS: Final = 100_000
"""Comparisons of one sentence with one passage. Honest sentences take some hundreds; what takes more repeats itself, so that each
of its words could stand for any other, and proves nothing."""
CHECK_STEPS: Final = 6 * PASSAGE_STEPS
"""Comparisons of one sentence with all that it cites: as many passages as an answer may name."""


class TooMuchWorkError(Exception):
    """What was compared so far decides nothing."""


class ComparisonBudget:
    """Counts the comparisons of words, and ends when there were too many."""

    def __init__(self, steps: int = PASSAGE_STEPS) -> None:
        self._steps = steps
        self._whole: ComparisonBudget | None = None
        self.spent = 0

    def part(self, steps: int) -> "ComparisonBudget":
        """So many of the steps that are left; what is spent of them is spent of these, too."""
        part = ComparisonBudget(min(steps, self._steps - self.spent))
        part._whole = self
        return part

    def spend(self, steps: int) -> None:
        """Called before the comparing.

        Raises:
            TooMuchWorkError: there are not so many steps left.
        """
        if self.spent + steps > self._steps:
            raise TooMuchWorkError
        self.spent += steps
        if self._whole is not None:
            self._whole.spent += steps
