"""The bank of true sentences and lies, and the choice of those that an exam asks about: the same each time."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain, islice, zip_longest
from typing import Any, Final, TypeVar

from writing.model.claims.comparison import Evidence

EACH: Final = 100
"""True sentences of an exam, and lies. With so many, one sentence is one percent."""

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class ExamSentence:
    text: str
    passages: tuple[Evidence, ...]
    """Those that it cites."""
    subject: str
    lie: str | None
    """The kind of lie; None if the passages say it."""


def load_bank() -> tuple[ExamSentence, ...]:
    """Reads all sentences of the bank, by subject."""
    subjects = (json.loads(each.read_text("utf-8")) for each in _files())
    return tuple(chain.from_iterable(map(_sentences, subjects)))


def choose_sentences(bank: Sequence[ExamSentence]) -> tuple[ExamSentence, ...]:
    """Returns `EACH` true sentences and `EACH` lies: of each subject and each kind of lie as many as there is room for.

    They come by subject, true ones among lies, in an order that tells nothing about either.
    """
    subjects = sorted({each.subject for each in bank})
    true = [[each for each in bank if each.subject == subject and each.lie is None] for subject in subjects]
    lies = []
    for at, kind in enumerate(sorted({each.lie for each in bank if each.lie is not None})):
        # Each kind begins with another subject: with few of a kind, the first subject would have all of them.
        turned = subjects[at % len(subjects) :] + subjects[: at % len(subjects)]
        lies.append(
            list(
                _in_turn(
                    [
                        [each for each in bank if (each.subject, each.lie) == (subject, kind)]
                        for subject in turned
                    ]
                )
            )
        )
    chosen = [*islice(_in_turn(true), EACH), *islice(_in_turn(lies), EACH)]
    return tuple(sorted(chosen, key=lambda each: (each.subject, sha256(each.text.encode()).digest())))


def _files() -> list[Traversable]:
    folder = files(__package__)
    return sorted((each for each in folder.iterdir() if each.name.endswith(".json")), key=lambda it: it.name)


def _sentences(told: dict[str, Any]) -> Iterator[ExamSentence]:
    passages = {
        name: Evidence(name, each["heading"], each["text"]) for name, each in told["passages"].items()
    }
    for each in (*told["true"], *told["lies"]):
        cited = tuple(passages[name] for name in each["passages"])
        yield ExamSentence(each["sentence"], cited, told["subject"], each.get("kind"))


def _in_turn(groups: Sequence[Sequence[ItemT]]) -> Iterator[ItemT]:
    """Yields the first of each group, then the second of each, and so on."""
    return (each for row in zip_longest(*groups) for each in row if each is not None)
