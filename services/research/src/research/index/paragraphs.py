"""Fingerprints of paragraphs, to find notices, offers or author boxes that a folder's documents repeat. Pure.

The database counts them (`exclusions.find_repeated_paragraphs`).
"""

import re
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Final

from documents.blocks import Block, ItemList, Note, Paragraph, text_of
from reading.document import ExtractedDocument

MIN_DOCUMENTS: Final = 3
"""Fewer documents may simply quote each other."""
MIN_SHARE: Final = 0.1
"""Share of a folder's documents. Manuals explain one option on several pages; text on a tenth of them is the site's."""
MIN_OWN_SHARE: Final = 0.3
"""Share of a document's paragraphs that do not repeat. Documents below it are copies and do not count: three formats of one
text share all their paragraphs."""

MIN_REPEATED_WORDS: Final = 4
"""Shorter lines of a section, as "For example:", may stand on many pages and belong to each."""

_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_NUMBERS: Final = re.compile(r"\d+")


def fingerprint(paragraph: str) -> int:
    """Hash a paragraph to a signed 64-bit number, regardless of case, punctuation and figures ("Page 3 of 12")."""
    words = _NOT_LETTERS.sub(" ", _NUMBERS.sub("0", paragraph.casefold())).strip()
    return int.from_bytes(blake2b(words.encode(), digest_size=8).digest(), "big", signed=True)


def split_paragraphs(text: str) -> list[str]:
    """Split a passage at its blank lines."""
    return text.split("\n\n")


def paragraphs_of(document: ExtractedDocument) -> list[int]:
    """Return the fingerprints of a document's paragraphs, sorted, without duplicates."""
    found = {fingerprint(each) for passage in document.passages for each in split_paragraphs(passage.text)}
    if document.sections is not None:
        found |= {
            fingerprint(text)
            for _, section in document.sections.walk()
            for block in section.blocks
            if (text := _repeatable_text(block))
        }
    return sorted(found)


def _repeatable_text(block: Block) -> str:
    """Return the words of a block that may be the site's; empty for a short line, and for what a text around it needs."""
    if not isinstance(block, Paragraph | Note | ItemList):
        return ""
    text = text_of(block)
    return text if text.count(" ") >= MIN_REPEATED_WORDS - 1 else ""


def without_repeated(blocks: Sequence[Block], repeated: Collection[int]) -> tuple[Block, ...]:
    """Return the blocks of a section without those that repeat."""
    if not repeated:
        return tuple(blocks)
    return tuple(
        each for each in blocks if not (text := _repeatable_text(each)) or fingerprint(text) not in repeated
    )


def remove_paragraphs(text: str, repeated: Collection[int]) -> str:
    """Return a passage without its repeated paragraphs; empty if it has no others."""
    return "\n\n".join(each for each in split_paragraphs(text) if fingerprint(each) not in repeated)
