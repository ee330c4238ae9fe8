"""Fits one line of text into a width: the largest size that fits, else cut with an ellipsis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PIL import ImageDraw

from publisher.colours import RGB
from publisher.covers.fonts import CoverFont
from publisher.covers.right_to_left import is_right_to_left, join_letters, visual_order

_ELLIPSIS: Final = "…"
_MOST_CHARACTERS: Final = 200
"""A longer text does not fit even at the smallest size; the rest is cut before measuring."""


@dataclass(frozen=True, slots=True)
class TypesetLine:
    """A line in visual order from left to right, ready to draw."""

    type: CoverFont
    text: str
    right_to_left: bool

    @property
    def width(self) -> float:
        """In pixels."""
        return self.type.width(self.text)

    def draw(self, canvas: ImageDraw.ImageDraw, left: float, middle: float, colour: RGB) -> None:
        """Draws it from `left`; capital letters stand around the height `middle`."""
        self.type.draw(canvas, (left, middle + self.type.size * 0.36), self.text, colour)


def fit(text: str, width: float, sizes: Sequence[int]) -> TypesetLine:
    """The text in the largest of the sizes (pixels, largest first) that fits the width."""
    way = is_right_to_left(text)
    joined = join_letters(text[:_MOST_CHARACTERS])
    type_ = CoverFont(sizes[0])
    for size in sizes:
        type_ = CoverFont(size)
        if len(text) <= _MOST_CHARACTERS and type_.width(joined) <= width:
            return TypesetLine(type_, visual_order(joined, right_to_left=way), way)
    while joined and type_.width(joined + _ELLIPSIS) > width:
        joined = joined[:-1]
    cut = joined.rstrip(" ,;:.-") + _ELLIPSIS
    return TypesetLine(type_, visual_order(cut, right_to_left=way), way)
