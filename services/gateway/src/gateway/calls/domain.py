"""Paid calls: their requests, their fingerprints and their outcomes."""

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from pydantic import JsonValue

from gateway.chain_calls.store import CallKind
from gateway.outcomes import AnsweredCall
from gateway.problems import CallProblem

ANSWERS_KEPT_FOR: Final = timedelta(days=7)
"""How long answers and keys are stored: as long as a command can be delivered again."""
AFTER_THE_CALL: Final = timedelta(seconds=15)
"""A process counts as dead this long after its call's time limit."""


def fingerprint(*parts: JsonValue) -> bytes:
    """A hash of the values; equal JSON gives equal hashes, in any order of fields."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).digest()


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call to make.

    Args:
        brand: the brand that pays.
        provider: name of the account.
        subject: the ledger's entry: `search`, or a model's name.
        fingerprint: equal for calls that may share an answer; includes the brand.
        maximum: the highest possible price, in micro-dollars.
        within: time limit from sending to the answer.
        fresh: maximum age of an answer to another request; zero always makes a new call.
        key: the caller's idempotency key, the same for every delivery of one command's step.
    """

    brand: str
    provider: str
    subject: str
    fingerprint: bytes
    maximum: int
    within: timedelta
    fresh: timedelta
    key: str | None = None
    kind: CallKind = "model"
    """What is called."""


def answer_outcome(paid: AnsweredCall) -> dict[str, Any]:
    return {"answer": paid.answer}


def problem_outcome(problem: CallProblem) -> dict[str, Any]:
    return {"problem": problem.as_json()}
