"""Chooses the sentences of the bank that an exam asks about: the same each time. Pure."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice, zip_longest
from typing import Final, TypeVar

from writing.model.exam.bank import ExamItem

EACH: Final = 100
"""True sentences of an exam, and lies. With so many, one sentence is one percent."""

ItemT = TypeVar("ItemT")


def choose_sentences(bank: Sequence[ExamItem]) -> tuple[ExamItem, ...]:
    """Returns `EACH` true sentences and `EACH` lies: of each subject and each kind of lie as many as there is room for.

    They come by subject, true ones among lies, in an order that tells nothing about either.
    """
    subjects = sorted({each.subject for each in bank})
    true = [[each for each in bank if each.subject == subject and each.is_true] for subject in subjects]
    lies = []
    for at, kind in enumerate(sorted({each.kind for each in bank if not each.is_true})):
        # Each kind begins with another subject: with few of a kind, the first subject would have all of them.
        turned = subjects[at % len(subjects) :] + subjects[: at % len(subjects)]
        lies.append(
            list(
                _in_turn(
                    [
                        [each for each in bank if (each.subject, each.kind) == (subject, kind)]
                        for subject in turned
                    ]
                )
            )
        )
    chosen = [*islice(_in_turn(true), EACH), *islice(_in_turn(lies), EACH)]
    return tuple(sorted(chosen, key=lambda each: (each.subject, sha256(each.sentence.encode()).digest())))


def _in_turn(groups: Sequence[Sequence[ItemT]]) -> Iterator[ItemT]:
    """Yields the first of each group, then the second of each, and so on."""
    return (each for row in zip_longest(*groups) for each in row if each is not None)
