"""The typefaces of covers: their characters, text width, and drawing.

Latin, Greek, Cyrillic, Hebrew, Arabic and more are DejaVu Sans Condensed Bold; Chinese, Japanese and Korean are Droid Sans
Fallback. Their licences are in `typefaces/`.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

from PIL import ImageDraw, ImageFont

from publisher.colours import RGB

_FOLDER: Final = Path(__file__).with_name("typefaces")
_FACES: Final = ("DejaVuSansCondensed-Bold.ttf", "DroidSansFallback.ttf")
# The second typeface has no bold: an outline of this share of the size imitates it.
_OUTLINES: Final = (0.0, 1 / 48)
_FULL_UNICODE: Final = (3, 10)
_SEGMENTED_COVERAGE: Final = 12


def face_of(character: str) -> int | None:
    """Index of the first typeface with this character; None if no typeface has it."""
    return next((face for face in range(len(_FACES)) if _has(face, ord(character))), None)


def _has(face: int, code: int) -> bool:
    starts, ends = _coverage(face)
    at = bisect_right(starts, code) - 1
    return at >= 0 and code <= ends[at]


@cache
def _coverage(face: int) -> tuple[list[int], list[int]]:
    """First and last characters of a typeface's ranges, from its table `cmap` (OpenType 1.9, format 12).

    Raises:
        ValueError: the file has no such table.
    """
    font = (_FOLDER / _FACES[face]).read_bytes()
    tables = struct.unpack_from(">H", font, 4)[0]
    for table in range(tables):
        name, _, start, _ = struct.unpack_from(">4sLLL", font, 12 + 16 * table)
        if name == b"cmap":
            return _full_unicode(font, start)
    raise ValueError(f"{_FACES[face]} is no typeface: it has no table of characters")


def _full_unicode(font: bytes, cmap: int) -> tuple[list[int], list[int]]:
    encodings = struct.unpack_from(">H", font, cmap + 2)[0]
    for encoding in range(encodings):
        platform, kind, offset = struct.unpack_from(">HHL", font, cmap + 4 + 8 * encoding)
        table = cmap + offset
        if (platform, kind) == _FULL_UNICODE and struct.unpack_from(">H", font, table)[
            0
        ] == _SEGMENTED_COVERAGE:
            groups = struct.unpack_from(">L", font, table + 12)[0]
            ranges = [struct.unpack_from(">LL", font, table + 16 + 12 * group) for group in range(groups)]
            return [first for first, _ in ranges], [last for _, last in ranges]
    raise ValueError("the typeface has no characters beyond the first 65,536; install a version with them")


class CoverFont:
    """Both typefaces at one size in pixels. Not safe to share between threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        # No Raqm shaping: it needs a system library, and covers must be the same on every machine.
        self._fonts = [
            ImageFont.truetype(str(_FOLDER / name), size, layout_engine=ImageFont.Layout.BASIC)
            for name in _FACES
        ]
        self._widths: dict[str, float] = {}

    def width(self, text: str) -> float:
        """Width of the text in pixels. Every character must be in a typeface."""
        if text not in self._widths:
            self._widths[text] = sum(self._fonts[face].getlength(run) for face, run in _runs(text))
        return self._widths[text]

    def middle(self, letter: str) -> float:
        """Distance from the baseline to the middle of a letter's ink, in pixels."""
        _, top, _, bottom = self._fonts[face_of(letter) or 0].getbbox(letter, anchor="ls")
        return -(top + bottom) / 2

    def draw(self, canvas: ImageDraw.ImageDraw, at: tuple[float, float], text: str, colour: RGB) -> None:
        """Draws text from left to right; `at` is the left end of the baseline."""
        x, y = at
        for face, run in _runs(text):
            font, outline = self._fonts[face], round(self.size * _OUTLINES[face])
            canvas.text(
                (x, y), run, fill=colour, font=font, anchor="ls", stroke_width=outline, stroke_fill=colour
            )
            x += font.getlength(run)


def _runs(text: str) -> Iterator[tuple[int, str]]:
    """Splits the text into runs of one typeface each."""
    for face, run in groupby(text, lambda character: face_of(character) or 0):
        yield face, "".join(run)
