"""How much two texts say the same: runs of words that they have in common. Pure."""

import hashlib
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias, TypeVar

from orchestrator.writing.article import Source

RUN: Final = 3
"""Words of a run where articles are compared."""
SOURCE_RUN: Final = 5
SAME_SOURCE: Final = 0.4
"""Two sources of which the shorter has this part of its runs of five words in common with the other are one source."""
SAMPLED: Final = 8
"""Of the runs of an article, one in so many is in its fingerprint, the same ones in every article."""
_LONGEST: Final = 40_000
_WORD: Final = re.compile(r"\w+")

Runs: TypeAlias = frozenset[tuple[str, ...]]
Fingerprint: TypeAlias = frozenset[int]
WordT = TypeVar("WordT", str, bytes)


def words_of(text: str) -> list[str]:
    return [*map(str.casefold, _WORD.findall(text))]


def runs(text: str, length: int = RUN) -> Runs:
    return _runs_of_words(words_of(text), length)


def _runs_of_words(words: Sequence[WordT], length: int) -> frozenset[tuple[WordT, ...]]:
    if len(words) <= length:
        return frozenset([tuple(words)] if words else [])
    return frozenset(zip(*(words[at:] for at in range(length)), strict=False))


def alike(one: str, other: str) -> float:
    """The part of the runs of both that they have in common."""
    return jaccard(runs(one), runs(other))


def jaccard(one: Runs, other: Runs) -> float:
    both = len(one & other)
    union = len(one) + len(other) - both
    return both / union if union else 0.0


def said_by(other: str, text: str) -> float:
    """The part of the text's runs that the other text has, too."""
    ours = runs(text)
    return len(ours & runs(other)) / len(ours) if ours else 0.0


def fingerprint(text: str) -> Fingerprint:
    """A sample of the text's runs as 63-bit numbers, the same on every machine, by which likeness is estimated."""
    words = [word.encode() for word in words_of(text)]
    digests = (hashlib.blake2b(b" ".join(run), digest_size=8).digest() for run in _runs_of_words(words, RUN))
    # Eight divides 256, so that the last byte tells.
    return frozenset(int.from_bytes(each) >> 1 for each in digests if each[-1] % SAMPLED == 0)


def estimate(ours: AbstractSet[int], theirs: AbstractSet[int]) -> float:
    """What `said_by` comes to, as far as fingerprints tell."""
    return len(ours & theirs) / len(ours) if ours else 0.0


def independent(sources: Sequence[Source]) -> int:
    """The number of sources, copies of each other counted once: another format or version of a text is no other source."""
    texts = [found for found in map(_runs_of, sources) if found]
    copies = [
        frozenset(b for b, other in enumerate(texts) if a != b and _are_one(text, other))
        for a, text in enumerate(texts)
    ]
    return _most_apart(frozenset(range(len(texts))), copies)


def _are_one(one: Runs, other: Runs) -> bool:
    return len(one & other) >= SAME_SOURCE * min(len(one), len(other))


def _most_apart(texts: frozenset[int], copies: Sequence[frozenset[int]]) -> int:
    """Of the texts, the most of which no two are copies: one that was put together from three others does not make them one."""
    busiest = max(texts, key=lambda each: len(copies[each] & texts), default=None)
    if busiest is None or not copies[busiest] & texts:
        return len(texts)
    without = texts - {busiest}
    return max(_most_apart(without, copies), 1 + _most_apart(without - copies[busiest], copies))


def _runs_of(source: Source) -> Runs:
    texts = (passage.text[:_LONGEST] for passage in source.passages)
    return frozenset(run for text in texts for run in runs(text, SOURCE_RUN))
