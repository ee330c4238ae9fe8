"""Counters of calls since the process began."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from prometheus_client import Counter

from gateway.money import MICROS

_ANSWERED: Final = "answered"
_PRESUMED: Final = "presumed"
"""The process died before the answer came."""
_OUTCOMES: Final = (
    _ANSWERED,
    _PRESUMED,
    "provider.away",
    "provider.no_answer",
    "provider.limited",
    "limit.reached",
)
_REFUSALS: Final = ("budget.exhausted", "budget.set_aside", "spending.stopped")


class CallCounts:
    """Counters by account, and by outcome (`answered`, `presumed`, or the type of the problem)."""

    def __init__(self, prefix: str = "brand_engine") -> None:
        def counter(name: str, documentation: str, *labels: str) -> Counter:
            return Counter(f"{prefix}_{name}", documentation, ("provider", *labels), registry=None)

        self.ended = counter("calls", "Ended calls, by outcome.", "outcome")
        self.refused = counter("calls_refused", "Requests refused before a call began.", "problem")
        self.spent = counter("spent_dollars", "Cost of calls.")

    def __iter__(self) -> Iterator[Counter]:
        return iter((self.ended, self.refused, self.spent))

    def begin(self, providers: Iterable[str]) -> None:
        """Begins the counters of these providers at 0: a rate needs a first value."""
        for provider in providers:
            self.spent.labels(provider)
            for outcome in _OUTCOMES:
                self.ended.labels(provider, outcome)
            for problem in _REFUSALS:
                self.refused.labels(provider, problem)

    def note_end(self, provider: str, outcome: dict[str, Any], spent: int) -> None:
        """Counts a call that ended; `outcome` is its stored outcome, `spent` in micro-dollars."""
        problem = outcome.get("problem")
        self.ended.labels(provider, problem["type"] if problem else _ANSWERED).inc()
        self.spent.labels(provider).inc(spent / MICROS)

    def note_presumed(self, provider: str, spent: int) -> None:
        self.ended.labels(provider, _PRESUMED).inc()
        self.spent.labels(provider).inc(spent / MICROS)
