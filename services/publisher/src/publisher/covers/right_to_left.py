"""Prepares right-to-left text for a drawing function that places one character after another.

`join_letters` chooses the forms of Arabic letters, `visual_order` the order on paper where right-to-left text meets numbers and Latin
words. Both work without system libraries for text shaping, so that every machine draws the same picture.
"""

import unicodedata
from itertools import groupby
from typing import Final

from arabic_reshaper import ArabicReshaper  # type: ignore[import-untyped]
from arabic_reshaper.letters import LETTERS_ARABIC  # type: ignore[import-untyped]

# Of the ligatures only those of lam and alef are obligatory, and in every typeface.
_RESHAPER: Final = ArabicReshaper({"delete_harakat": False, "ARABIC LIGATURE ALLAH": False})
_STRONG: Final = frozenset({"L", "R", "AL"})
_NEUTRAL: Final = frozenset({"B", "S", "WS", "ON"})
_RIGHTWARD: Final = frozenset({"R", "EN", "AN"})
"""Types that count as right to left for adjacent neutral characters (UAX #9, N1)."""
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}
_MIRRORED: Final = str.maketrans("()[]{}<>«»‹›≤≥", ")(][}{><»«›‹≥≤")  # noqa: RUF001 - guillemets
# These characters have no further effect once the order is settled.
_INVISIBLE: Final = str.maketrans(dict.fromkeys("\u00ad\u061c\u200c\u200d\u200e\u200f"))


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is right-to-left, as `dir="auto"` decides in HTML."""
    return next((kind != "L" for kind in map(unicodedata.bidirectional, text) if kind in _STRONG), False)


def can_join(letter: str) -> bool:
    """Whether the joining forms of this Arabic letter are known."""
    return letter in LETTERS_ARABIC


def join_letters(text: str) -> str:
    """The text with each Arabic letter in its joining form, still in reading order."""
    return str(_RESHAPER.reshape(text))


def visual_order(text: str, *, right_to_left: bool) -> str:
    """One line in visual order from left to right, by the Unicode bidirectional algorithm (UAX #9), with mirrored brackets.

    Does not implement explicit embeddings: earlier cleaning removes them.
    """
    base = int(right_to_left)
    levels = _levels(text, base)
    characters = [
        character.translate(_MIRRORED) if level % 2 else character
        for character, level in zip(text, levels, strict=True)
    ]
    order = list(range(len(text)))
    for floor in range(max(levels, default=0), 0, -1):
        runs = [(high, list(run)) for high, run in groupby(order, lambda at: levels[at] >= floor)]  # noqa: B023 - used at once
        order = [at for high, run in runs for at in (run[::-1] if high else run)]
    return "".join(characters[at] for at in order).translate(_INVISIBLE)


def _levels(text: str, base: int) -> list[int]:
    kinds = _weak([unicodedata.bidirectional(character) or "L" for character in text], "R" if base else "L")
    kinds = _neutral(_brackets(text, kinds, base), base)
    levels = [base + _raise(kind, base) for kind in kinds]
    for at in range(len(text) - 1, -1, -1):
        if not text[at].isspace():
            break
        levels[at] = base
    return levels


def _raise(kind: str, base: int) -> int:
    """Rules I1 and I2."""
    if kind == "L":
        return base
    return 1 - base if kind == "R" else 2 - base


def _weak(kinds: list[str], start: str) -> list[str]:
    """Rules W1 to W7: numbers and their signs."""
    for at, kind in enumerate(kinds):
        if kind in {"NSM", "BN"}:
            kinds[at] = kinds[at - 1] if at else start
    kinds = _after_strong(kinds, start, number="EN", strong="AL", becomes="AN")
    kinds = _within_numbers(["R" if kind == "AL" else kind for kind in kinds])
    kinds = ["ON" if kind in {"ES", "ET", "CS"} else kind for kind in kinds]
    return _after_strong(kinds, start, number="EN", strong="L", becomes="L")


def _after_strong(kinds: list[str], start: str, *, number: str, strong: str, becomes: str) -> list[str]:
    """Rules W2 and W7: the type of a number, from the last letter before it."""
    last, changed = start, []
    for kind in kinds:
        if kind in _STRONG:
            last = kind
        changed.append(becomes if kind == number and last == strong else kind)
    return changed


def _within_numbers(kinds: list[str]) -> list[str]:
    """Rules W4 and W5: points and signs that are parts of numbers."""
    for at in range(1, len(kinds) - 1):
        before, kind, after = kinds[at - 1 : at + 2]
        if before == after and (kind, before) in {("ES", "EN"), ("CS", "EN"), ("CS", "AN")}:
            kinds[at] = before
    for order in (range(len(kinds)), reversed(range(len(kinds)))):
        beside = ""
        for at in order:
            if kinds[at] == "ET" and beside == "EN":
                kinds[at] = "EN"
            beside = kinds[at]
    return kinds


def _direction(kind: str) -> str:
    return "R" if kind in _RIGHTWARD else kind


def _brackets(text: str, kinds: list[str], base: int) -> list[str]:
    """Rule N0: a bracket pair follows the line's direction if any text inside does, else the text before it."""
    own = "R" if base else "L"
    opened: list[tuple[str, int]] = []
    pairs = []
    for at, character in enumerate(text):
        if character in _BRACKETS:
            opened.append((_BRACKETS[character], at))
        elif any(character == closing for closing, _ in opened):
            while opened[-1][0] != character:
                opened.pop()
            pairs.append((opened.pop()[1], at))
    for first, last in sorted(pairs):
        inside = {_direction(kind) for kind in kinds[first + 1 : last]} & {"L", "R"}
        if own in inside:
            kinds[first] = kinds[last] = own
        elif inside:
            before = next((d for d in map(_direction, reversed(kinds[:first])) if d in {"L", "R"}), own)
            kinds[first] = kinds[last] = before
    return kinds


def _neutral(kinds: list[str], base: int) -> list[str]:
    """Rules N1 and N2: neutral characters take the direction of both neighbours if equal, else that of the line."""
    own, at = "R" if base else "L", 0
    for neutral, run in groupby(list(kinds), lambda kind: kind in _NEUTRAL):
        length = len(list(run))
        if neutral:
            before = _direction(kinds[at - 1]) if at else own
            after = _direction(kinds[at + length]) if at + length < len(kinds) else own
            kinds[at : at + length] = [before if before == after else own] * length
        at += length
    return kinds
