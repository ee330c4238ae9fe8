"""What a call is, when two of them are the same, and how one ends."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from pydantic import JsonValue

from gateway.problems import Problem

KEPT: Final = timedelta(days=7)
"""How long answers and keys are kept: as long as a command can be delivered again."""
AFTER_THE_CALL: Final = timedelta(seconds=15)
"""From when a call must have ended at the latest until its process is taken for dead."""


def fingerprint(*parts: JsonValue) -> bytes:
    """Of what makes two calls the same: equal JSON, equal fingerprint, whatever the order of fields."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Asked:
    """A call to be made.

    Args:
        brand: who pays.
        provider: whom it goes to, by name.
        subject: what the ledger says it was: `search`, or a model's name.
        fingerprint: of all that makes it the same as another, the brand included.
        maximum: micro-dollars that it can cost at most.
        within: how long it may take once it is sent.
        fresh: how old an answer may be that was given to somebody else; zero or less asks anew.
        key: the caller's own, the same for every delivery of one command's step.
    """

    brand: str
    provider: str
    subject: str
    fingerprint: bytes
    maximum: int
    within: timedelta
    fresh: timedelta
    key: str | None = None


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


def kept_answer(paid: Paid) -> dict[str, Any]:
    return {"answer": paid.answer}


def kept_problem(problem: Problem) -> dict[str, Any]:
    return {"problem": problem.as_json()}
