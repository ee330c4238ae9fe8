"""The characters that covers can draw. If the typefaces cannot set a title completely and correctly, the cover omits it."""

import unicodedata
from typing import Final

from publisher.covers.fonts import face_of
from publisher.covers.right_to_left import can_join, join_letters

# A title stays clear without these: symbols, emoji and their modifiers, controls, unassigned characters.
_ORNAMENTS: Final = frozenset({"So", "Me", "Cf", "Cn", "Co", "Cc", "Cs"})
_FIRST_PICTOGRAPH: Final = 0x1F000
# These shape their neighbours, and disappear once the order is settled (`right_to_left.visual_order`).
_WORKING: Final = frozenset("\u00ad\u061c\u200c\u200e\u200f")
_HEBREW: Final = ("\u0590", "\u05ff")
# Scripts with stacked letters, or with line breaks between words without spaces.
_STACKED: Final = (("\u0e00", "\u0eff"),)
_VARIATIONS: Final = (("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))
_CLOSING: Final = frozenset(",.:;!?)]}»”…")
"""Punctuation that follows the text before it without a space, also after a removed emoji."""
_MOST_MARKS: Final = 2
"""Combining marks on one letter; real words have no more."""


def drawable(text: str) -> str | None:
    """One line as covers can draw it, without emoji and vowel points; None if a typeface lacks a needed character.

    Empty if the text was only ornament.
    """
    kept: list[str] = []
    marks, gap = 0, False
    for character in unicodedata.normalize("NFC", text):
        marks = marks + 1 if unicodedata.combining(character) else 0
        if _is_left_out(character) or marks > _MOST_MARKS:
            gap = True
            continue
        if gap and kept and kept[-1] == " " and character in _CLOSING:
            kept.pop()
        kept.append(character)
        gap = gap and character == " "
    line = " ".join("".join(kept).split())
    return line if all(_can_be_set(character) for character in line) and _has_all(line) else None


def _is_left_out(character: str) -> bool:
    if character in _WORKING:
        return False
    if _within(character, _VARIATIONS) or ord(character) in range(_FIRST_PICTOGRAPH, 0x1FB00):
        return True
    category = unicodedata.category(character)
    if category == "Mn":
        # Titles are readable without the vowel points of Hebrew and Arabic, which cannot be positioned here.
        return _HEBREW[0] <= character <= _HEBREW[1] or unicodedata.name(character, "").startswith("ARABIC")
    return category in _ORNAMENTS and (category != "So" or face_of(character) is None)


def _can_be_set(character: str) -> bool:
    """Whether this script can be set one character after another, after joining by `join_letters`."""
    if character in _WORKING or character == " ":
        return True
    kind = unicodedata.bidirectional(character)
    if kind == "R":
        return _HEBREW[0] <= character <= _HEBREW[1]
    if kind == "AL":
        return not unicodedata.category(character).startswith("L") or can_join(character)
    return not _within(character, _STACKED) and face_of(character) is not None


def _has_all(line: str) -> bool:
    return all(character in _WORKING or face_of(character) is not None for character in join_letters(line))


def _within(character: str, ranges: tuple[tuple[str, str], ...]) -> bool:
    return any(first <= character <= last for first, last in ranges)
