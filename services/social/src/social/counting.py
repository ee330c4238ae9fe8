"""The length of a text as each platform counts it. Pure.

If a platform does not document its counting exactly, the stricter reading applies: a platform must never refuse a text
for its length.
"""

from collections.abc import Iterator
from typing import Final
from unicodedata import normalize

import regex

LINK_WEIGHT: Final = 23
"""Length of any link on X and on Mastodon."""

# X, https://docs.x.com/fundamentals/counting-characters and twitter-text's config/v3.json: the code points of four
# ranges count 1 and all others 2; an emoji counts 2, whatever it is made of.
_X_HEAVY = regex.compile(r"[^\u0000-\u10FF\u2000-\u200D\u2010-\u201F\u2032-\u2037]")
_X_EMOJI: Final = 2

_GRAPHEME = regex.compile(r"\X")
# Letters and punctuation of which each is a grapheme by itself, whatever stands beside it: most texts are made of them
# alone, and splitting a text into graphemes is slow. (The bullet and the ellipsis are among them, the combining marks,
# joiners and \r are not.)
_ONE_GRAPHEME_EACH = regex.compile(r"[\n\x20-\x7E\xA0-\u02FF\u2010-\u2027]*")
# The emoji sequences of Unicode TS 51 (ED-14 to ED-17): flag, keycap, and pictographs with modifiers, joined or tagged.
_EMOJI = regex.compile(
    r"\p{Regional_Indicator}{2}"
    r"|[0-9#*]\uFE0F?\u20E3"
    r"|(?!\p{ASCII})\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?[\U000E0020-\U000E007F]*"
    r"(?:\u200D\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?){0,9}"
)
_EMOJI_PARTS = regex.compile(r"(?!\p{ASCII})\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20E3")
_LINK = regex.compile(r"https?://\S+", regex.IGNORECASE)
_WORD = regex.compile(r"\S+")
# A dot that a link detector may take for that of an address, as in "example.org".
_JOINING_DOT = regex.compile(r"(?<=[^\s.])\.(?=[^\s.\d][^\s.])")
_PATH = r"(?:/(?:[a-z0-9%~+=/.;:&?!_-]*[a-z0-9=/+_-])?)?"
# Addresses that every detector recognises from the first character to the last.
_PLAIN_LINK = regex.compile(
    rf"https?://(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{{2,63}}(?::\d{{1,5}})?{_PATH}", regex.IGNORECASE
)
# IP addresses and names without a dot: X takes them for ordinary text, Mastodon may take them for a link.
_LOCAL_LINK = regex.compile(
    rf"https?://(?:\d{{1,3}}(?:\.\d{{1,3}}){{3}}|[a-z0-9-]+)(?::\d{{1,5}})?{_PATH}", regex.IGNORECASE
)


def graphemes(text: str) -> list[str]:
    """The user-perceived characters (extended grapheme clusters of Unicode TR 29)."""
    return _GRAPHEME.findall(text)


def grapheme_count(text: str) -> int:
    return len(text) if _ONE_GRAPHEME_EACH.fullmatch(text) else len(graphemes(text))


def utf8_bytes(text: str) -> int:
    return len(text.encode())


def utf16_units(text: str) -> int:
    """Never less than the number of code points or of graphemes, so right for platforms that say only "characters"."""
    return len(text.encode("utf-16-le")) // 2


def x_weight(text: str) -> int:
    """Weighted characters on X: NFC, a link is 23, an emoji or a CJK character 2."""
    text = normalize("NFC", text)
    if text.isascii():
        # Only links count otherwise than their characters, and each has a dot.
        return len(text) + sum(_x_word(word) - len(word) for word in _WORD.findall(text) if "." in word)
    parts = _parts(text, _WORD)
    return sum(_x_word(part) if is_word else len(part) for part, is_word in parts)


def mastodon_characters(text: str) -> int:
    """Graphemes, but a link is 23 (https://docs.joinmastodon.org/user/posting/#text)."""
    parts = _parts(text, _LINK)
    return sum(_mastodon_link(part) if is_link else grapheme_count(part) for part, is_link in parts)


def threads_characters(text: str) -> int:
    """Characters, but an emoji counts as many as it has UTF-8 bytes.

    https://developers.facebook.com/documentation/threads/posts
    """
    return len(text) + sum(utf8_bytes(each) - len(each) for each in _emoji(text))


def _x_word(word: str) -> int:
    if "." not in word or _LOCAL_LINK.fullmatch(word):
        return _x_characters(word)
    if _PLAIN_LINK.fullmatch(word):
        return LINK_WEIGHT
    # Which links X sees in the rest is anybody's guess; each would have a dot of its own.
    return _x_characters(word) + LINK_WEIGHT * len(_JOINING_DOT.findall(word))


def _x_characters(text: str) -> int:
    return _x_code_points(text) + sum(_X_EMOJI - _x_code_points(each) for each in _emoji(text))


def _x_code_points(text: str) -> int:
    return len(text) if text.isascii() else len(text) + len(_X_HEAVY.findall(text))


def _mastodon_link(link: str) -> int:
    if _PLAIN_LINK.fullmatch(link):
        return LINK_WEIGHT
    if _LOCAL_LINK.fullmatch(link):
        return max(LINK_WEIGHT, grapheme_count(link))
    return grapheme_count(link) + LINK_WEIGHT * link.count("://")


def _emoji(text: str) -> Iterator[str]:
    """The graphemes that are emoji."""
    if not text.isascii() and _EMOJI_PARTS.search(text):
        yield from filter(_EMOJI.fullmatch, graphemes(text))


def _parts(text: str, pattern: "regex.Pattern[str]") -> Iterator[tuple[str, bool]]:
    """All of the text in pieces: what matches (True) and what stands between (False)."""
    end = 0
    for match in pattern.finditer(text):
        yield text[end : match.start()], False
        yield match[0], True
        end = match.end()
    yield text[end:], False
