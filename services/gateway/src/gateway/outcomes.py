"""How a call to a provider ends: answered, or not; in both cases with what it cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from gateway.problems import Problem


@dataclass(frozen=True, slots=True)
class Paid:
    """A call that was answered.

    Args:
        answer: what is kept and given to all who ask for the same.
        spent: micro-dollars.
        usage: what it was counted by, such as tokens.
    """

    answer: JsonValue
    spent: int
    usage: Mapping[str, int] = field(default_factory=dict)


class Failed(Exception):  # noqa: N818 - one of two ways in which a call ends, the other being `Paid`
    """A call without an answer.

    Args:
        problem: why.
        spent: micro-dollars that it cost all the same; None if that is not known: the maximum is counted then.
    """

    def __init__(self, problem: Problem, *, spent: int | None = 0) -> None:
        super().__init__(f"{problem.type}: {problem.detail}")
        self.problem = problem
        self.spent = spent
