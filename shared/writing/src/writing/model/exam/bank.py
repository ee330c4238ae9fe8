"""Reads the bank of the exam: passages of ten subjects, true sentences and lies about them, as JSON beside this module.

Passages and sentences are invented, and written for this bank. The rules on words were made with six subjects at hand
(`development`); four were written once the first rules stood (`blind`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

from writing.model.claims.comparison import Evidence
from writing.model.judge.question import Claim, Finding, Quote, Reading

Half: TypeAlias = Literal["development", "blind"]
SUBJECTS: Final = (
    "medicine",
    "history",
    "cooking",
    "company",
    "law",
    "manuals",
    "sport",
    "nature",
    "technology",
    "countries",
)
TRUE: Final = "true"
"""The kind of a sentence that is no lie."""


@dataclass(frozen=True, slots=True)
class ExamItem:
    """A sentence that cites passages, and what a careful judge answers to it."""

    subject: str
    half: Half
    kind: str
    """`true`, or the kind of the lie, such as `unit`."""
    sentence: str
    cited: tuple[Evidence, ...]
    reading: Reading
    mended: tuple[str, ...] = ()
    """Of a true sentence: the wordings of a writer who was told each time why the last one was refused."""

    @property
    def is_true(self) -> bool:
        return self.kind == TRUE


def read_bank(half: Half | None = None) -> tuple[ExamItem, ...]:
    """Returns the items of one half, or all of them."""
    subjects = (files(__package__).joinpath(f"{each}.json").read_text("utf-8") for each in SUBJECTS)
    return tuple(item for subject in subjects for item in read_items(subject) if half in {None, item.half})


def read_items(subject: str) -> Iterator[ExamItem]:
    """Yields the items of one subject, given as JSON."""
    told: Mapping[str, Any] = json.loads(subject)
    passages = {
        name: Evidence(name, each["heading"], each["text"]) for name, each in told["passages"].items()
    }

    def item(kind: str, each: Mapping[str, Any], finding: Finding, claims: Sequence[Claim]) -> ExamItem:
        return ExamItem(
            told["subject"],
            told["half"],
            kind,
            each["sentence"],
            tuple(passages[name] for name in each["passages"]),
            Reading(number=1, claims=tuple(claims), why="", finding=finding),
            tuple(each.get("mended", ())),
        )

    for each in told["true"]:
        claims = [
            Claim(says=one["words"], quotes=(Quote(passage=one["passage"], words=one["quote"]),))
            for one in each["claims"]
        ]
        yield item(TRUE, each, "supported", claims)
    for each in told["lies"]:
        yield item(each["kind"], each, each["finding"], ())
