"""Texts that say the same in the same words: another format of a document, another version, a page and the book it is in. Pure."""

import re
from collections.abc import Iterable
from typing import Final

WORDS: Final = 5
"""That follow each other in both texts, to count as common."""
MIN_COMMON: Final = 0.6
"""Share of the shorter text that the other has as well. A version may be edited in places; who only quotes says more."""
MAX_CHARACTERS: Final = 20_000
"""Of a text that is looked at."""

_WORD: Final = re.compile(r"\w+")

Shingles = frozenset[tuple[str, ...]]


def shingles(texts: Iterable[str]) -> Shingles:
    """All runs of five words; none in a text that is shorter."""
    words = _WORD.findall("\n".join(texts)[:MAX_CHARACTERS].casefold())
    return frozenset(zip(*(words[at:] for at in range(WORDS)), strict=False))


def are_one_text(one: Shingles, other: Shingles) -> bool:
    """Whether most of the shorter of the two is in the other."""
    shorter = min(len(one), len(other))
    return shorter > 0 and len(one & other) >= MIN_COMMON * shorter
