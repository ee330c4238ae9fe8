"""How a call to a provider ends, with its cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from gateway.problems import CallProblem


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call with an answer.

    Args:
        answer: JSON, kept for identical requests.
        spent: micro-dollars.
        usage: units of the price, such as tokens.
    """

    answer: JsonValue
    spent: int
    usage: Mapping[str, int] = field(default_factory=dict)


class FailedCall(Exception):  # noqa: N818 - one of two ways in which a call ends, the other being `Paid`
    """A call without an answer.

    Args:
        problem: the reason.
        spent: micro-dollars; None if unknown: then the maximum counts.
    """

    def __init__(self, problem: CallProblem, *, spent: int | None = 0) -> None:
        super().__init__(f"{problem.type}: {problem.detail}")
        self.problem = problem
        self.spent = spent
