"""Removes invisible characters from text, and flags text that gives orders to a model. Pure."""

import re
import unicodedata
from collections.abc import Sequence

from documents.instructions import find_instruction

# Control characters; zero-width and bidirectional ones, soft hyphens, and the Unicode "tag" block, which can hide words
# from readers.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U000e0000-\U000e0fff]"
)
# Enough marks on one letter for any script (Unicode's Stream-Safe Text Format, UAX 15). Normalisation takes quadratic time
# in their number.
MAX_MARKS = 30
_PERHAPS_MARKS = re.compile(rf"[^\w\s\x00-\x7f]{{{MAX_MARKS + 1},}}")

# Letters that case-insensitive patterns match as others, while `str.lower` keeps them.
_ODD_LETTERS = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s"})


class PhrasePatterns:
    """Case-insensitive patterns. Each comes with lower-case words: every text that it matches has at least one.

    The search for the words comes first: most texts have none, and a pattern takes a hundred times as long.
    """

    def __init__(self, *ways: tuple[Sequence[str], str]) -> None:
        self.ways = tuple((tuple(words), re.compile(pattern, re.IGNORECASE)) for words, pattern in ways)

    def matches(self, text: str) -> bool:
        plain = (text if text.isascii() else text.translate(_ODD_LETTERS)).lower()
        for words, way in self.ways:
            # Loops, as `any` takes as long as the search itself.
            for word in words:
                if word in plain:
                    if way.search(text):
                        return True
                    break
        return False


def remove_invisible(text: str) -> str:
    """Return `text` in Unicode composition, without characters that are invisible or cannot be stored.

    Line breaks stay, as do the first 30 marks on each letter.
    """
    seen = _UNSEEN.sub("", text)
    if seen.isascii():
        return seen
    return unicodedata.normalize("NFC", _PERHAPS_MARKS.sub(_with_few_marks, seen))


def _with_few_marks(match: re.Match[str]) -> str:
    kept = []
    marks = 0
    for character in match[0]:
        # Some characters are marks only after decomposition.
        last = unicodedata.normalize("NFD", character)[-1]
        marks = marks + 1 if unicodedata.combining(last) else 0
        if marks <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def one_line(text: str) -> str:
    return " ".join(remove_invisible(text).split())


def flags_of(text: str) -> tuple[str, ...]:
    return ("prompt_injection",) if find_instruction(text) else ()
