"""What a call is, when two of them are the same, and how one ends."""

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from pydantic import JsonValue

from gateway.outcomes import Paid
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
        fresh: how old an answer may be that was given to somebody else; zero asks anew.
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


def kept_answer(paid: Paid) -> dict[str, Any]:
    return {"answer": paid.answer}


def kept_problem(problem: Problem) -> dict[str, Any]:
    return {"problem": problem.as_json()}
