"""How many sources there are that do not repeat each other: another format or version of a text is no other source. Pure."""

from collections.abc import Sequence
from typing import Final

from orchestrator.writing.article import Source
from orchestrator.writing.extractive.sentences import words_of

SHINGLE_WORDS: Final = 5
# Two texts of which the shorter has this part of its runs of five words in common with the other are one text.
SAME: Final = 0.4
_LONGEST: Final = 40_000


def independent(sources: Sequence[Source]) -> int:
    """The number of sources, copies of each other counted once."""
    texts: list[frozenset[int]] = []
    for runs in sorted(map(_runs_of, sources), key=len, reverse=True):
        if runs and not any(len(runs & other) >= SAME * len(runs) for other in texts):
            texts.append(runs)
    return len(texts)


def _runs_of(source: Source) -> frozenset[int]:
    runs: set[int] = set()
    for passage in source.passages:
        words = words_of(passage.text[:_LONGEST])
        runs.update(
            hash(words[at : at + SHINGLE_WORDS])
            for at in range(max(1, len(words) - SHINGLE_WORDS + 1))
            if words
        )
    return frozenset(runs)
