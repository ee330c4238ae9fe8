"""Results of played scenarios."""

from dataclasses import dataclass, field

from faults.judging.checker import Violation


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """The verdict of a scenario that judges itself, because it drives other services than the probes."""

    submitted: int
    effects: int
    dead_letters: int
    lost: int
    duplicated: int
    fired: int
    seconds_to_heal: float
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """One line of the report."""

    fault: str
    fired: int
    submitted: int = 0
    effects: int = 0
    dead_letters: int = 0
    lost: int = 0
    duplicated: int = 0
    seconds_to_heal: float = 0.0
    violations: tuple[Violation, ...] = ()
    in_doubt: int = 0
    """Commands whose confirm was lost: those that are neither effect nor dead letter nor lost."""
    seconds: float = field(default=0.0, compare=False)
    skipped: str | None = None
    """Why it was not played; then it has neither passed nor failed."""

    @property
    def passed(self) -> bool:
        return not self.violations
