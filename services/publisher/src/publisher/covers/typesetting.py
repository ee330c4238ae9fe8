"""A title in a box: as large as it fits, in even lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from publisher.covers import breaking
from publisher.covers.breaking import Piece
from publisher.covers.fonts import Type
from publisher.covers.right_to_left import is_right_to_left, joined, visual

LINE_HEIGHT: Final = 1.22
_ELLIPSIS: Final = "…"
_MOST_CHARACTERS: Final = 400
"""Nothing that is longer fits the smallest type; the rest is not looked at."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines in the order from left to right, ready to be drawn."""

    type: Type
    lines: tuple[str, ...]
    right_to_left: bool

    @property
    def height(self) -> int:
        """In pixels."""
        return round(len(self.lines) * self.type.size * LINE_HEIGHT)


def fit(text: str, width: int, height: int, sizes: Sequence[int]) -> Block:
    """The text in the largest of the sizes (in pixels, largest first) at which it fits the box whole.

    A size at which a short word stays alone in the last line is passed over if a smaller one has none. Only what does not
    fit in the smallest size is broken within words, and cut, with an ellipsis.
    """
    way = is_right_to_left(text)
    if len(text) > _MOST_CHARACTERS:
        text = text[:_MOST_CHARACTERS].rstrip() + _ELLIPSIS
    pieces = breaking.pieces(joined(text))
    second_best: Block | None = None
    for size in sizes:
        type_ = Type(size)
        lines = breaking.balanced(pieces, width, type_.width)
        if lines is None or len(lines) * size * LINE_HEIGHT > height:
            continue
        block = Block(type_, _drawn(lines, way), way)
        if not breaking.leaves_a_widow(lines, type_.width):
            return block
        second_best = second_best or block
    if second_best:
        return second_best
    smallest = Type(sizes[-1])
    return Block(smallest, _drawn(_cut(pieces, smallest, width, height), way), way)


def _cut(pieces: Sequence[Piece], type_: Type, width: int, height: int) -> list[list[Piece]]:
    parts = [
        part
        for piece in pieces
        for part in (
            [piece] if type_.width(piece.text) <= width else breaking.smaller(piece, width, type_.width)
        )
    ]
    lines = breaking.filled(parts, width, type_.width)
    room = max(1, int(height / (type_.size * LINE_HEIGHT)))
    if len(lines) > room:
        lines = [*lines[: room - 1], _ending(lines[room - 1], width, type_)]
    return lines


def _ending(line: list[Piece], width: int, type_: Type) -> list[Piece]:
    """The line with an ellipsis, and without as many pieces at its end as that takes."""
    text = breaking.joined(line, ends_text=True)
    kept = list(line)
    while len(kept) > 1 and type_.width(text + _ELLIPSIS) > width:
        kept.pop()
        text = breaking.joined(kept, ends_text=True)
    while text and type_.width(text + _ELLIPSIS) > width:
        text = text[:-1]
    return [Piece(text.rstrip(" ,;:.-") + _ELLIPSIS)]


def _drawn(lines: Sequence[Sequence[Piece]], way: bool) -> tuple[str, ...]:
    ends = [*([False] * (len(lines) - 1)), True]
    return tuple(
        visual(breaking.joined(line, ends_text=end), right_to_left=way)
        for line, end in zip(lines, ends, strict=True)
    )
