"""Fingerprints of paragraphs, to find notices, offers or author boxes that a folder's documents repeat. Pure.

The database counts them (`exclusions.find_repeated_paragraphs`).
"""

import re
from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Final

MIN_DOCUMENTS: Final = 3
"""Fewer documents may simply quote each other."""
MIN_SHARE: Final = 0.1
"""Share of a folder's documents. Manuals explain one option on several pages; text on a tenth of them is the site's."""
MIN_OWN_SHARE: Final = 0.3
"""Share of a document's paragraphs that do not repeat. Documents below it are copies and do not count: three formats of one
text share all their paragraphs."""

_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_NUMBERS: Final = re.compile(r"\d+")


def fingerprint(paragraph: str) -> int:
    """Hash a paragraph to a signed 64-bit number, regardless of case, punctuation and figures ("Page 3 of 12")."""
    words = _NOT_LETTERS.sub(" ", _NUMBERS.sub("0", paragraph.casefold())).strip()
    return int.from_bytes(blake2b(words.encode(), digest_size=8).digest(), "big", signed=True)


def split_paragraphs(text: str) -> list[str]:
    """Split a passage at its blank lines."""
    return text.split("\n\n")


def fingerprints(texts: Iterable[str]) -> list[int]:
    """Return the fingerprints of all paragraphs of these passages, sorted, without duplicates."""
    return sorted({fingerprint(each) for text in texts for each in split_paragraphs(text)})


def remove_paragraphs(text: str, repeated: Collection[int]) -> str:
    """Return a passage without its repeated paragraphs; empty if it has no others."""
    return "\n\n".join(each for each in split_paragraphs(text) if fingerprint(each) not in repeated)
