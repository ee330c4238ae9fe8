"""Paragraphs that repeat over the documents of a folder: a notice, an offer, an author's box, whatever markup they are in. Pure.

Which ones repeat is counted in the database (`leaving_out.repeated_paragraphs`).
"""

import re
from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Final

MIN_DOCUMENTS: Final = 3
"""Fewer than that may quote each other."""
MIN_SHARE: Final = 0.1
"""Of a folder's documents. Manuals explain one option on several pages; what is on a tenth of them belongs to the site."""
MIN_OWN_SHARE: Final = 0.3
"""Of a document's paragraphs, those that do not repeat. Documents below it are copies of others, and count for nothing here:
three formats of one text have all of their paragraphs in common."""

_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_NUMBERS: Final = re.compile(r"\d+")


def fingerprint(paragraph: str) -> int:
    """Equal for paragraphs that differ in case, punctuation or figures ("Page 3 of 12") alone; 64 bits with a sign."""
    words = _NOT_LETTERS.sub(" ", _NUMBERS.sub("0", paragraph.casefold())).strip()
    return int.from_bytes(blake2b(words.encode(), digest_size=8).digest(), "big", signed=True)


def paragraphs_of(text: str) -> list[str]:
    """Those of a passage, which are separated by blank lines."""
    return text.split("\n\n")


def fingerprints(texts: Iterable[str]) -> list[int]:
    """Of all paragraphs of these passages, each once."""
    return sorted({fingerprint(each) for text in texts for each in paragraphs_of(text)})


def without(text: str, repeated: Collection[int]) -> str:
    """A passage without those of its paragraphs; empty if nothing is left."""
    return "\n\n".join(each for each in paragraphs_of(text) if fingerprint(each) not in repeated)
