"""Line breaking: allowed breaks in a text, and the most even lines."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_SOFT_HYPHEN: Final = "\u00ad"
_DASHES: Final = frozenset("-\u2010\u2013\u2014/")
# Marks, small kana and signs of repetition: they belong to what stands before them (JIS X 4051).
_NEVER_FIRST: Final = frozenset(
    "、。，．・：；？！‐ー々〻ゝゞヽヾ〜…‥％℃ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ,.:;!?%"  # noqa: RUF001 - wide marks
)
_NEVER_LAST: Final = frozenset("＄￥￡＃$€£#")  # noqa: RUF001 - wide marks
_SHORTEST_PART: Final = 2
_SHORT_WORD: Final = 2
_UNWANTED_END: Final = 0.15
"""Extra unevenness that keeps a short word together with the next one, as a share of the square of a full line."""
_WIDOW: Final = 0.25
"""A last line of one word is a widow if it is narrower than this share of the widest line."""


@dataclass(frozen=True, slots=True)
class UnbreakableText:
    """Text that stays on one line, with the separator after it: a space, nothing, or a hyphen at a line's end."""

    text: str
    after: str = ""


def pieces(text: str) -> list[UnbreakableText]:
    """Splits a line of text into words, parts of hyphenated words, and single characters in scripts without spaces."""
    parts: list[UnbreakableText] = []
    for word in text.split():
        parts.extend(_parts(word))
        parts[-1] = UnbreakableText(parts[-1].text, " ")
    return [*parts[:-1], UnbreakableText(parts[-1].text)] if parts else []


def _parts(word: str) -> list[UnbreakableText]:
    parts, start = [], 0
    for at in range(1, len(word)):
        if word[at] == _SOFT_HYPHEN:
            if at > start:
                parts.append(UnbreakableText(word[start:at], _SOFT_HYPHEN))
            start = at + 1
        elif at > start and _may_break(word, at):
            parts.append(UnbreakableText(word[start:at]))
            start = at
    if start < len(word):
        parts.append(UnbreakableText(word[start:]))
    return parts or [UnbreakableText(word)]


def _may_break(word: str, at: int) -> bool:
    """Whether a line may end before the character `at`, within a word."""
    before, after = word[at - 1], word[at]
    if before in _DASHES:
        return word[at - 1 - _SHORTEST_PART : at - 1].isalpha() and word[at : at + _SHORTEST_PART].isalpha()
    if not (is_wide(before) or is_wide(after)):
        return False
    opens = before in _NEVER_LAST or unicodedata.category(before) in {"Ps", "Pi"}
    closes = after in _NEVER_FIRST or unicodedata.category(after) in {"Pe", "Pf", "Mn", "Me", "Mc"}
    return not opens and not closes


def is_wide(character: str) -> bool:
    """Whether a character is Chinese or Japanese, so that a line may end after it. Korean breaks lines between words."""
    return unicodedata.east_asian_width(character) in {"W", "F"} and not "\uac00" <= character <= "\ud7a3"


def join_pieces(line: Sequence[UnbreakableText], *, ends_text: bool = False) -> str:
    """Joins the pieces of a line into its text."""
    inside = "".join(piece.text + piece.after.replace(_SOFT_HYPHEN, "") for piece in line).rstrip(" ")
    return inside if ends_text or line[-1].after != _SOFT_HYPHEN else inside + "-"


def split_piece(
    piece: UnbreakableText, width: float, measure: Callable[[str], float]
) -> list[UnbreakableText]:
    """Splits a piece wider than a line into parts that fit: the last resort for an extremely long word."""
    parts, start = [], 0
    for at in range(1, len(piece.text)):
        if not unicodedata.combining(piece.text[at]) and measure(piece.text[start : at + 1]) > width:
            parts.append(UnbreakableText(piece.text[start:at]))
            start = at
    return [*parts, UnbreakableText(piece.text[start:], piece.after)]


def balance_lines(
    text: Sequence[UnbreakableText], width: float, measure: Callable[[str], float]
) -> list[list[UnbreakableText]] | None:
    """The fewest lines that hold the text, as even in width as possible; None if a piece is wider than a line.

    Of all ways to break it into that many lines, this takes the least sum of squares of the empty widths.
    """
    widths = [measure(piece.text) for piece in text]
    if not text or max(widths) > width:
        return None
    inside = [measure(" ") if piece.after == " " else 0.0 for piece in text]
    ending = [measure("-") if piece.after == _SOFT_HYPHEN else 0.0 for piece in text]
    unwanted = [width**2 * _UNWANTED_END if _hangs(piece) else 0.0 for piece in text]
    starts = _breaks(widths, inside, ending, unwanted, width)
    return [list(text[first:last]) for first, last in pairwise([*starts, len(text)])]


def _hangs(piece: UnbreakableText) -> bool:
    """Whether a line should not end with this word: "a", "of", "и", "10"."""
    return piece.after == " " and len(piece.text) <= _SHORT_WORD and piece.text.isalnum()


def _breaks(
    widths: list[float], inside: list[float], ending: list[float], unwanted: list[float], width: float
) -> list[int]:
    """The index at which each line of the most even layout begins.

    A piece has one width within a line and another at its end. A line that ends with an unwanted piece costs `unwanted` more.
    """
    # best[end]: how many lines the first `end` pieces take at the least, how much is empty in them, where the last begins.
    best: list[tuple[int, float, int]] = [(0, 0.0, 0)]
    for end in range(1, len(widths) + 1):
        candidates = []
        line = ending[end - 1]
        for start in range(end - 1, -1, -1):
            line += widths[start] + (inside[start] if start < end - 1 else 0.0)
            if line > width and start < end - 1:
                break
            lines, empty, _ = best[start]
            candidates.append((lines + 1, empty + (width - line) ** 2 + unwanted[end - 1], start))
        best.append(min(candidates))
    starts, at = [], len(widths)
    while at:
        at = best[at][2]
        starts.append(at)
    return starts[::-1]


def fill_lines(
    text: Sequence[UnbreakableText], width: float, measure: Callable[[str], float]
) -> list[list[UnbreakableText]]:
    """Fills each line as far as possible, for a text that is too long anyway."""
    lines: list[list[UnbreakableText]] = []
    for piece in text:
        if lines and measure(join_pieces([*lines[-1], piece])) <= width:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return lines


def leaves_a_widow(lines: Sequence[Sequence[UnbreakableText]], measure: Callable[[str], float]) -> bool:
    """Whether the last line is a single short piece below longer lines."""
    if len(lines) == 1 or len(lines[-1]) > 1:
        return False
    widest = max(measure(join_pieces(line)) for line in lines)
    return measure(lines[-1][0].text) < _WIDOW * widest
