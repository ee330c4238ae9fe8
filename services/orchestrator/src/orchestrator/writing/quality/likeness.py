"""How much two texts say the same: runs of words that they have in common. Pure."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import combinations
from typing import Final, TypeAlias, TypeVar

from orchestrator.writing.article import ArticleSource

RUN: Final = 3
"""Words of a run where articles are compared."""
SOURCE_RUN: Final = 5
SAME_SOURCE: Final = 0.4
"""Two sources of which the shorter has this part of its runs of five words in common with the other are one source."""
SAMPLED: Final = 8
"""Of the runs of an article, one in so many is in its fingerprint, the same ones in every article."""
_LONGEST: Final = 40_000
_REMEMBERED: Final = 32
_WORD: Final = re.compile(r"\w+")
# In ASCII, which most texts are, words are told apart by bytes: letters in lower case, and spaces for all that is no word.
_ASCII: Final = (
    bytes(at if chr(at) == "_" or chr(at).isalnum() else ord(" ") for at in range(128)).lower().ljust(256)
)

Runs: TypeAlias = frozenset[tuple[str, ...]]
Fingerprint: TypeAlias = frozenset[int]
WordT = TypeVar("WordT", str, bytes)


def words_of(text: str) -> list[str]:
    if text.isascii():
        return text.encode().translate(_ASCII).decode().split()
    return [*map(str.casefold, _WORD.findall(text))]


def runs(text: str, length: int = RUN) -> Runs:
    return runs_of(words_of(text), length)


def runs_of(words: Sequence[str], length: int = RUN) -> Runs:
    return frozenset(_in_a_row(words, length))


def _in_a_row(words: Sequence[WordT], length: int) -> Iterable[tuple[WordT, ...]]:
    """Each run of so many words; all of them if they are no more than that."""
    if len(words) <= length:
        return [tuple(words)] if words else []
    return zip(*(words[at:] for at in range(length)), strict=False)


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
    words = " ".join(words_of(text)).encode().split()
    joined = map(b" ".join, _in_a_row(words, RUN))
    digests = [hashlib.blake2b(run, digest_size=8).digest() for run in joined]
    # Eight divides 256, so that the last byte tells.
    return frozenset(int.from_bytes(each) >> 1 for each in digests if each[-1] % SAMPLED == 0)


def estimate(ours: Fingerprint, theirs: Iterable[int]) -> float:
    """What `said_by` comes to, as far as fingerprints tell."""
    return len(ours.intersection(theirs)) / len(ours) if ours else 0.0


def independent(sources: Sequence[ArticleSource]) -> int:
    """The number of sources, copies of each other counted once: another format or version of a text is no other source."""
    said = tuple(tuple(passage.text[:_LONGEST] for passage in source.passages) for source in sources)
    length = sum(len(text) for texts in said for text in texts)
    return (_independent if length <= _LONGEST else _independent.__wrapped__)(said)


# Of a digest, first its writer asks, and then who judges it. Of 40,000 characters at most, some 1 MB.
@lru_cache(_REMEMBERED)
def _independent(said: tuple[tuple[str, ...], ...]) -> int:
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
    """Of the texts, the most of which no two are copies: one that was put together from three others does not make them one."""
    busiest = max(texts, key=lambda each: len(copies[each] & texts), default=None)
    if busiest is None or not copies[busiest] & texts:
        return len(texts)
    without = texts - {busiest}
    return max(_most_apart(without, copies), 1 + _most_apart(without - copies[busiest], copies))


def _runs_of(texts: Sequence[str]) -> Runs:
    return frozenset().union(*(runs(text, SOURCE_RUN) for text in texts))
