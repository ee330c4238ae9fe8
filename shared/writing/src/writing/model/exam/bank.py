"""Reads the bank of the exam: passages of several subjects, true sentences and lies about them, as JSON beside this module."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from writing.model.claims.checking import Evidence

SUBJECTS: Final = ("medicine", "history", "cooking", "company")
TRUE: Final = "true"
"""The kind of a sentence that is no lie."""


@dataclass(frozen=True, slots=True)
class ExamItem:
    subject: str
    kind: str
    """`true`, or the kind of the lie, such as `unit`."""
    sentence: str
    cited: tuple[Evidence, ...]

    @property
    def is_true(self) -> bool:
        return self.kind == TRUE


def read_bank() -> tuple[ExamItem, ...]:
    return tuple(item for subject in SUBJECTS for item in _items(subject))


def _items(subject: str) -> Iterator[ExamItem]:
    told = json.loads(files(__package__).joinpath(f"{subject}.json").read_text("utf-8"))
    passages = {
        name: Evidence(name, each["heading"], each["text"]) for name, each in told["passages"].items()
    }
    for each in (*told["true"], *told["lies"]):
        cited = tuple(passages[name] for name in each["passages"])
        yield ExamItem(subject, each.get("kind", TRUE), each["sentence"], cited)
