"""How much of a text stands in its sources as it is: copying is no writing, and a licence seldom allows it. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.writing.model.claims.wording import plain_words

LONGEST_RUN: Final = 12
"""Words of a source that may stand in a row outside quotation marks."""
COPIED_RUN: Final = 11
"""So many words in a row count as copied where an article is judged as a whole."""
LONGEST_QUOTATION: Final = 25
"""Words between quotation marks; a longer one is a copied paragraph with marks around it."""
QUOTATION: Final = re.compile(r"“([^“”]*)”|\"([^\"]*)\"")


@dataclass(frozen=True, slots=True)
class SourceRuns:
    """The words of all sources, ready to be looked up in runs."""

    runs: dict[int, frozenset[tuple[str, ...]]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "SourceRuns":
        words = [plain_words(text) for text in texts]
        return cls(
            {
                length: frozenset(run for each in words for run in _runs(each, length))
                for length in (COPIED_RUN, LONGEST_RUN + 1)
            }
        )

    def too_long_a_run(self, sentence: str) -> str | None:
        """The first run of more than LONGEST_RUN words outside quotation marks that stands in a source."""
        for stretch in unquoted(sentence):
            for run in _runs(plain_words(stretch), LONGEST_RUN + 1):
                if run in self.runs[LONGEST_RUN + 1]:
                    return " ".join(run)
        return None

    def copied(self, sentence: str) -> tuple[int, int]:
        """Words of the sentence that stand in runs of COPIED_RUN or more, and all of its words; quotations left out."""
        copied = total = 0
        for stretch in unquoted(sentence):
            words = plain_words(stretch)
            marked = {
                at + offset
                for at, run in enumerate(_runs(words, COPIED_RUN))
                if run in self.runs[COPIED_RUN]
                for offset in range(COPIED_RUN)
            }
            copied, total = copied + len(marked), total + len(words)
        return copied, total

    def share(self, sentences: Iterable[str]) -> float:
        counts = [self.copied(sentence) for sentence in sentences]
        return sum(copied for copied, _ in counts) / max(1, sum(total for _, total in counts))


def unquoted(sentence: str) -> list[str]:
    """What stands outside its quotation marks."""
    return [stretch for stretch in QUOTATION.sub("\x00", sentence).split("\x00") if stretch.strip()]


def quotations(sentence: str) -> list[str]:
    return [one or other for one, other in QUOTATION.findall(sentence)]


def _runs(words: Sequence[str], length: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[at : at + length]) for at in range(len(words) - length + 1))
