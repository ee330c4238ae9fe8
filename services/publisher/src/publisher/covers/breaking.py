"""Where a line may end, and which of the ways to break a text looks best."""

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
"""How uneven lines may become for a short word to stay with the one behind it, in parts of the square of a whole line."""
_WIDOW: Final = 0.25
"""A last line of one word is left alone there if it is narrower than this part of the widest."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that stays on one line, and what stands between it and the next: a space, nothing, or a hyphen at a line's end."""

    text: str
    after: str = ""


def pieces(text: str) -> list[Piece]:
    """Of one line of text: words, parts of words behind hyphens, and single characters where a script has no spaces."""
    parts: list[Piece] = []
    for word in text.split():
        parts.extend(_parts(word))
        parts[-1] = Piece(parts[-1].text, " ")
    return [*parts[:-1], Piece(parts[-1].text)] if parts else []


def _parts(word: str) -> list[Piece]:
    parts, start = [], 0
    for at in range(1, len(word)):
        if word[at] == _SOFT_HYPHEN:
            if at > start:
                parts.append(Piece(word[start:at], _SOFT_HYPHEN))
            start = at + 1
        elif at > start and _may_break(word, at):
            parts.append(Piece(word[start:at]))
            start = at
    if start < len(word):
        parts.append(Piece(word[start:]))
    return parts or [Piece(word)]


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
    """Of Chinese or Japanese script, where a line may end after any character. Korean ends its lines between words."""
    return unicodedata.east_asian_width(character) in {"W", "F"} and not "\uac00" <= character <= "\ud7a3"


def joined(line: Sequence[Piece], *, ends_text: bool = False) -> str:
    """The text of a line."""
    inside = "".join(piece.text + piece.after.replace(_SOFT_HYPHEN, "") for piece in line).rstrip(" ")
    return inside if ends_text or line[-1].after != _SOFT_HYPHEN else inside + "-"


def smaller(piece: Piece, width: float, measure: Callable[[str], float]) -> list[Piece]:
    """A piece that is wider than a line in parts that are not: the last resort for a word without end."""
    parts, start = [], 0
    for at in range(1, len(piece.text)):
        if not unicodedata.combining(piece.text[at]) and measure(piece.text[start : at + 1]) > width:
            parts.append(Piece(piece.text[start:at]))
            start = at
    return [*parts, Piece(piece.text[start:], piece.after)]


def balanced(
    text: Sequence[Piece], width: float, measure: Callable[[str], float]
) -> list[list[Piece]] | None:
    """The fewest lines that hold the text, as even in width as can be; None if a piece is wider than a line.

    Of all ways to break it into that many lines, the one with the least sum of squares of what stays empty is taken.
    """
    widths = [measure(piece.text) for piece in text]
    if not text or max(widths) > width:
        return None
    inside = [measure(" ") if piece.after == " " else 0.0 for piece in text]
    ending = [measure("-") if piece.after == _SOFT_HYPHEN else 0.0 for piece in text]
    unwanted = [width**2 * _UNWANTED_END if _hangs(piece) else 0.0 for piece in text]
    starts = _breaks(widths, inside, ending, unwanted, width)
    return [list(text[first:last]) for first, last in pairwise([*starts, len(text)])]


def _hangs(piece: Piece) -> bool:
    """Whether a reader stumbles if a line ends with it: "a", "of", "и", "10"."""
    return piece.after == " " and len(piece.text) <= _SHORT_WORD and piece.text.isalnum()


def _breaks(
    widths: list[float], inside: list[float], ending: list[float], unwanted: list[float], width: float
) -> list[int]:
    """Where the lines of the best way begin.

    What stands behind a piece has a width within a line, and another at its end; `unwanted` is added to the squares when a
    line ends with the piece.
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


def filled(text: Sequence[Piece], width: float, measure: Callable[[str], float]) -> list[list[Piece]]:
    """Lines that hold as much as goes in, for a text that is too long anyway."""
    lines: list[list[Piece]] = []
    for piece in text:
        if lines and measure(joined([*lines[-1], piece])) <= width:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return lines


def leaves_a_widow(lines: Sequence[Sequence[Piece]], measure: Callable[[str], float]) -> bool:
    """Whether the last line is a single short piece below longer lines."""
    if len(lines) == 1 or len(lines[-1]) > 1:
        return False
    widest = max(measure(joined(line)) for line in lines)
    return measure(lines[-1][0].text) < _WIDOW * widest
