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
# In ASCII, which most texts are, words are told apart by bytes: letters in lower case, and spaces for all that is no word.
_ASCII: Final = (
    bytes(at if chr(at) == "_" or chr(at).isalnum() else ord(" ") for at in range(128)).lower().ljust(256)
)

Shingles = frozenset[tuple[str, ...]]


def shingles(texts: Iterable[str]) -> Shingles:
    """All runs of five words; none in a text that is shorter."""
    words = _words("\n".join(texts)[:MAX_CHARACTERS])
    return frozenset(zip(*(words[at:] for at in range(WORDS)), strict=False))


def _words(text: str) -> list[str]:
    if text.isascii():
        return text.encode().translate(_ASCII).decode().split()
    return _WORD.findall(text.casefold())


def are_one_text(one: Shingles, other: Shingles) -> bool:
    """Whether most of the shorter of the two is in the other."""
    shorter = min(len(one), len(other))
    return shorter > 0 and len(one & other) >= MIN_COMMON * shorter
