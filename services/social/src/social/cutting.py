"""Cleans text for posts, and cuts it at sentences or words. Pure."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final
from unicodedata import normalize

import regex

from social.counting import graphemes

ELLIPSIS: Final = "…"
# Whole sentences are preferred to more words as long as they are this part of what would fit.
_WHOLE_SENTENCES: Final = 0.4
# Longer ones are allowed everywhere and read nowhere.
_MAX_HASHTAG: Final = 30

# Controls, private and unassigned characters, bidirectional embeddings and overrides, zero-width spaces and tags: they
# make text read as something else, or are refused by PostgreSQL, XML or a platform. Joiners and directional marks stay
# because emoji, Persian and Hebrew need them.
_UNWANTED = regex.compile(
    r"[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u200b\u2060-\u2069\ufeff\u202a-\u202e\U000E0000-\U000E001F\U000E007F--[\s]]",
    regex.V1,
)
_SENTENCE_END = regex.compile(r"[.!?][\"'”’)\]]*\s+(?=[\p{Lu}\p{Lt}\p{Lo}\p{N}\"'“‘(\[])|[。！？]")  # noqa: RUF001
_ABBREVIATED = regex.compile(
    r"(?:^|[\s(])(?:\p{L}|cf|e\.g|i\.e|vs|etc|approx|ca|no|fig|dr|mr|mrs|ms|prof|st|u\.s|p\.m|a\.m)\.$",
    regex.I,
)
_WORD_END = regex.compile(r"\s+")
_TRAILING = regex.compile(r"[\s,;:–—(\[\"“‘-]+$")  # noqa: RUF001
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# The same for ASCII, byte by byte: letters in lower case, digits, and spaces for all else.
_ASCII: Final = bytes(at if chr(at).isalnum() else ord(" ") for at in range(128)).lower().ljust(256)
_MENTION = regex.compile(r"(?<![\p{L}\p{N}_])@(?=[\p{L}\p{N}_])")

Fits = Callable[[str], bool]


def clean_line(text: str) -> str:
    """One line in NFC, without characters that cannot be seen."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return " ".join(_UNWANTED.sub("", normalize("NFC", text)).split())


def without_mentions(text: str) -> str:
    """Separates `@` from a name by an invisible word joiner, so that quoted text mentions no account."""
    return _MENTION.sub("@\u2060", text)


def cut(text: str, fits: Fits) -> str:
    """The longest part of `text` that fits: whole sentences if possible, else whole words and "…", else whole graphemes.

    Empty if nothing fits. `fits` need not be monotonic; the result always fits.
    """
    if fits(text):
        return text
    words = _longest(
        [_TRAILING.sub("", text[: m.start()]) + ELLIPSIS for m in _WORD_END.finditer(text)], fits
    )
    sentences = _longest(_sentence_prefixes(text), fits)
    if sentences and len(sentences) >= _WHOLE_SENTENCES * len(words):
        return sentences
    return words or _longest([piece + ELLIPSIS for piece in accumulate(graphemes(text))], fits)


def _sentence_prefixes(text: str) -> list[str]:
    return [text[:end].rstrip() for end in _sentence_ends(text)]


def sentences(text: str) -> Iterator[str]:
    """The sentences of a line of text; the last one may lack its end."""
    begin = 0
    for end in (*_sentence_ends(text), len(text)):
        if sentence := text[begin:end].strip():
            yield sentence
        begin = end


def _sentence_ends(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
        # An abbreviation has a few characters; a look at the whole prefix each time would be slow.
        if not _ABBREVIATED.search(text[max(0, match.end() - 12) : match.end()].rstrip()):
            yield match.end()


def _longest(pieces: Sequence[str], fits: Fits) -> str:
    """The last piece, of ascending length, that fits."""
    low, high = 0, len(pieces)
    while low < high:
        middle = (low + high) // 2
        if fits(pieces[middle]):
            low = middle + 1
        else:
            high = middle
    # The count may drop as text grows (half an emoji counts more than a whole one), so the search is checked.
    return next((piece for piece in reversed(pieces[:low]) if fits(piece)), "")


def hashtag(phrase: str) -> str | None:
    """`pour-over coffee` → `#PourOverCoffee`; None if nothing is left that a platform takes for a hashtag."""
    words = _WORD.findall(clean_line(phrase))
    tag = "".join(word if any(c.isupper() for c in word) else word[:1].upper() + word[1:] for word in words)
    if not any(c.isalpha() for c in tag) or len(tag) > _MAX_HASHTAG:
        return None
    return f"#{tag}"


def comparable(text: str) -> str:
    """The words alone, to tell whether one text says another again."""
    if text.isascii():
        return " ".join(text.encode().translate(_ASCII).decode().split())
    return " ".join(_WORD.findall(text.casefold()))
