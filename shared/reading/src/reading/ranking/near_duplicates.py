"""Detects near-duplicate texts: other formats or versions of a document, a page and the book that contains it. Pure."""

from collections.abc import Iterable
from typing import Final

from documents.words import words_of

WORDS: Final = 5
"""Length of the word runs that are compared."""
MIN_COMMON: Final = 0.6
"""Share of the shorter text that the longer contains. Versions differ in places; a text that only quotes shares less."""
MAX_CHARACTERS: Final = 20_000
"""Characters compared, from a text's beginning."""

Shingles = frozenset[tuple[str, ...]]


def shingles(texts: Iterable[str]) -> Shingles:
    """Return all runs of five words; a shorter text has none."""
    words = words_of("\n".join(texts)[:MAX_CHARACTERS])
    return frozenset(zip(*(words[at:] for at in range(WORDS)), strict=False))


def are_near_duplicates(one: Shingles, other: Shingles) -> bool:
    """Return whether the longer text contains most of the shorter one."""
    shorter = min(len(one), len(other))
    return shorter > 0 and len(one & other) >= MIN_COMMON * shorter
