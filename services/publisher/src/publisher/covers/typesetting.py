"""Fits a title into a box: the largest size that fits, in even lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from publisher.covers import line_breaking
from publisher.covers.fonts import CoverFont
from publisher.covers.line_breaking import UnbreakableText
from publisher.covers.right_to_left import is_right_to_left, join_letters, visual_order

LINE_HEIGHT: Final = 1.22
_ELLIPSIS: Final = "…"
_MOST_CHARACTERS: Final = 400
"""A longer text does not fit even at the smallest size; the rest is cut before measuring."""


@dataclass(frozen=True, slots=True)
class TypesetBlock:
    """Lines in visual order from left to right, ready to draw."""

    type: CoverFont
    lines: tuple[str, ...]
    right_to_left: bool

    @property
    def height(self) -> int:
        """In pixels."""
        return round(len(self.lines) * self.type.size * LINE_HEIGHT)


def fit(text: str, width: int, height: int, sizes: Sequence[int]) -> TypesetBlock:
    """The text in the largest of the sizes (pixels, largest first) that fits the box.

    Prefers a smaller size over one that leaves a short word alone on the last line. Breaks words, and cuts the text with an
    ellipsis, only if it does not fit at the smallest size.
    """
    way = is_right_to_left(text)
    if len(text) > _MOST_CHARACTERS:
        text = text[:_MOST_CHARACTERS].rstrip() + _ELLIPSIS
    pieces = line_breaking.pieces(join_letters(text))
    second_best: TypesetBlock | None = None
    for size in sizes:
        type_ = CoverFont(size)
        lines = line_breaking.balance_lines(pieces, width, type_.width)
        if lines is None or len(lines) * size * LINE_HEIGHT > height:
            continue
        block = TypesetBlock(type_, _drawn(lines, way), way)
        if not line_breaking.leaves_a_widow(lines, type_.width):
            return block
        second_best = second_best or block
    if second_best:
        return second_best
    smallest = CoverFont(sizes[-1])
    return TypesetBlock(smallest, _drawn(_cut(pieces, smallest, width, height), way), way)


def _cut(
    pieces: Sequence[UnbreakableText], type_: CoverFont, width: int, height: int
) -> list[list[UnbreakableText]]:
    parts = [
        part
        for piece in pieces
        for part in (
            [piece]
            if type_.width(piece.text) <= width
            else line_breaking.split_piece(piece, width, type_.width)
        )
    ]
    lines = line_breaking.fill_lines(parts, width, type_.width)
    room = max(1, int(height / (type_.size * LINE_HEIGHT)))
    if len(lines) > room:
        lines = [*lines[: room - 1], _ending(lines[room - 1], width, type_)]
    return lines


def _ending(line: list[UnbreakableText], width: int, type_: CoverFont) -> list[UnbreakableText]:
    """The line with an ellipsis, without the last pieces if they leave no room for it."""
    text = line_breaking.join_pieces(line, ends_text=True)
    kept = list(line)
    while len(kept) > 1 and type_.width(text + _ELLIPSIS) > width:
        kept.pop()
        text = line_breaking.join_pieces(kept, ends_text=True)
    while text and type_.width(text + _ELLIPSIS) > width:
        text = text[:-1]
    return [UnbreakableText(text.rstrip(" ,;:.-") + _ELLIPSIS)]


def _drawn(lines: Sequence[Sequence[UnbreakableText]], way: bool) -> tuple[str, ...]:
    ends = [*([False] * (len(lines) - 1)), True]
    return tuple(
        visual_order(line_breaking.join_pieces(line, ends_text=end), right_to_left=way)
        for line, end in zip(lines, ends, strict=True)
    )
