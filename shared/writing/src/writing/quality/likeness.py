"""Measures how much two texts have in common, by shared runs of words. Pure."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import combinations
from typing import Final, TypeAlias, TypeVar

from documents.words import words_of
from writing.article import ArticleSource

RUN: Final = 3
"""Words of a run when articles are compared."""
SOURCE_RUN: Final = 5
SAME_SOURCE: Final = 0.4
"""Two sources count as one if the shorter shares this part of its runs of five words with the other."""
SAMPLED: Final = 8
"""A fingerprint samples one run in this many, the same runs for every article."""
_LONGEST: Final = 40_000
_REMEMBERED: Final = 32

Runs: TypeAlias = frozenset[tuple[str, ...]]
Fingerprint: TypeAlias = frozenset[int]
WordT = TypeVar("WordT", str, bytes)


def runs(text: str, length: int = RUN) -> Runs:
    return runs_of(words_of(text), length)


def runs_of(words: Sequence[str], length: int = RUN) -> Runs:
    return frozenset(_runs_in(words, length))


def _runs_in(words: Sequence[WordT], length: int) -> Iterable[tuple[WordT, ...]]:
    """Returns each run of `length` words; a shorter text is one run."""
    if len(words) <= length:
        return [tuple(words)] if words else []
    return zip(*(words[at:] for at in range(length)), strict=False)


def alike(one: str, other: str) -> float:
    """Returns the share of their runs that both texts have (Jaccard)."""
    return jaccard(runs(one), runs(other))


def jaccard(one: Runs, other: Runs) -> float:
    both = len(one & other)
    union = len(one) + len(other) - both
    return both / union if union else 0.0


def containment(other: str, text: str) -> float:
    """Returns the share of the text's runs that `other` has, too."""
    ours = runs(text)
    return len(ours & runs(other)) / len(ours) if ours else 0.0


def fingerprint(text: str) -> Fingerprint:
    """Returns a sample of the text's runs as 63-bit numbers, the same on every machine, to estimate likeness."""
    words = " ".join(words_of(text)).encode().split()
    joined = map(b" ".join, _runs_in(words, RUN))
    digests = [hashlib.blake2b(run, digest_size=8).digest() for run in joined]
    # Eight divides 256, so the last byte decides.
    return frozenset(int.from_bytes(each) >> 1 for each in digests if each[-1] % SAMPLED == 0)


def estimate(ours: Fingerprint, theirs: Iterable[int]) -> float:
    """Estimates `containment` from fingerprints."""
    return len(ours.intersection(theirs)) / len(ours) if ours else 0.0


def count_independent(sources: Sequence[ArticleSource]) -> int:
    """Returns the number of sources, with copies counted once: another format or version of a text is no new source."""
    said = tuple(tuple(_texts_of(source)) for source in sources)
    length = sum(len(text) for texts in said for text in texts)
    return (_independent if length <= _LONGEST else _independent.__wrapped__)(said)


def _texts_of(source: ArticleSource) -> Iterator[str]:
    if source.passages or source.section is None:
        yield from (passage.text[:_LONGEST] for passage in source.passages)
        return
    length = 0
    for _, section in source.section.walk():
        if length < _LONGEST:
            yield section.text[:_LONGEST]
            length += len(section.text)


# The extractive writer asks first, then the judge. 40,000 characters at most take about 1 MB.
@lru_cache(_REMEMBERED)
def _independent(said: tuple[tuple[str, ...], ...]) -> int:
    if len(said) == 1:
        return int(any(said[0]))
    texts = [found for found in map(_runs_of, said) if found]
    copies: list[set[int]] = [set() for _ in texts]
    for a, b in combinations(range(len(texts)), 2):
        if _are_one(texts[a], texts[b]):
            copies[a].add(b)
            copies[b].add(a)
    return _most_apart(frozenset(range(len(texts))), copies)


def _are_one(one: Runs, other: Runs) -> bool:
    return len(one & other) >= SAME_SOURCE * min(len(one), len(other))


def _most_apart(texts: frozenset[int], copies: Sequence[AbstractSet[int]]) -> int:
    """Returns the size of the largest set without copies: a text compiled from three others does not make them one."""
    busiest = max(texts, key=lambda each: len(copies[each] & texts), default=None)
    if busiest is None or not copies[busiest] & texts:
        return len(texts)
    without = texts - {busiest}
    return max(_most_apart(without, copies), 1 + _most_apart(without - copies[busiest], copies))


def _runs_of(texts: Sequence[str]) -> Runs:
    return frozenset().union(*(runs(text, SOURCE_RUN) for text in texts))
