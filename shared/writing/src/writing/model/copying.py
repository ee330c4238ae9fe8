"""Measures how much of a text is copied from its sources, which a licence seldom allows. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from writing.model.claims.wording import normal

LONGEST_RUN: Final = 12
"""Words in a row that a sentence may copy outside quotation marks."""
COPIED_RUN: Final = 11
"""A run of at least this many words counts as copied when a whole article is measured."""
LONGEST_QUOTATION: Final = 25
"""The most words of a quotation; a longer one is a copied paragraph."""
QUOTATION: Final = re.compile(r"“([^“”]*)”|\"([^\"]*)\"")


@dataclass(frozen=True, slots=True)
class SourceRuns:
    """The runs of words of all sources, ready for look-ups."""

    runs: dict[int, frozenset[tuple[str, ...]]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "SourceRuns":
        words = [_words_of(text) for text in texts]
        return cls(
            {
                length: frozenset(run for each in words for run in _runs(each, length))
                for length in (COPIED_RUN, LONGEST_RUN + 1)
            }
        )

    def find_copied_run(self, sentence: str) -> str | None:
        """Returns the first copied run of more than LONGEST_RUN words outside quotation marks, or None."""
        for stretch in unquoted(sentence):
            for run in _runs(_words_of(stretch), LONGEST_RUN + 1):
                if run in self.runs[LONGEST_RUN + 1]:
                    return " ".join(run)
        return None

    def count_copied(self, sentence: str) -> tuple[int, int]:
        """Returns the words in copied runs of COPIED_RUN or more, and all words; quotations are left out."""
        copied = total = 0
        for stretch in unquoted(sentence):
            words = _words_of(stretch)
            marked = {
                at + offset
                for at, run in enumerate(_runs(words, COPIED_RUN))
                if run in self.runs[COPIED_RUN]
                for offset in range(COPIED_RUN)
            }
            copied, total = copied + len(marked), total + len(words)
        return copied, total

    def share(self, sentences: Iterable[str]) -> float:
        counts = [self.count_copied(sentence) for sentence in sentences]
        return sum(copied for copied, _ in counts) / max(1, sum(total for _, total in counts))


def unquoted(sentence: str) -> list[str]:
    """Returns the parts of a sentence outside its quotation marks."""
    return [stretch for stretch in QUOTATION.sub("\x00", sentence).split("\x00") if stretch.strip()]


def quotations(sentence: str) -> list[str]:
    return [one or other for one, other in QUOTATION.findall(sentence)]


def _runs(words: Sequence[str], length: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[at : at + length]) for at in range(len(words) - length + 1))


def _words_of(text: str) -> list[str]:
    """Returns the words without case and punctuation."""
    return re.findall(r"\w+(?:[.,]\d+)*", normal(text).casefold())
