"""Covers as pictures. The same cover gives the same bytes with the same version of Pillow, on any machine."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw

from publisher.covers import typesetting
from publisher.covers.colours import BLACK, RGB, WHITE, mixed, parse, readable_on
from publisher.covers.cover import Cover, Format
from publisher.covers.fonts import Type
from publisher.covers.right_to_left import is_right_to_left
from publisher.covers.scripts import drawable
from publisher.domain import initial

_MARGIN: Final = 80
_MARK: Final = 68
"""Side of the square with the initial."""
_GAP: Final = 56
"""Between the brand's name and the title at the least."""
_MOST_CHARACTERS: Final = 2_000
"""Of a title; what comes after them has no room whatever they are."""
_NAME_SIZES: Final = (36, 32, 28, 24)
_TITLE_SIZES: Final = {
    Format.LINK: (96, 88, 80, 72, 64, 56, 50, 44, 38, 34),
    Format.PORTRAIT: (124, 112, 100, 90, 80, 72, 64, 56, 50, 44, 38, 34),
}
_SMOOTHING: Final = 2
_SHADE: Final = 0.16
_PALETTE: Final = 128


def draw(cover: Cover, format_: Format) -> bytes:
    """The file. What the typefaces do not have is left out: the title, the name, or both.

    Takes some 0.1 s of one processor and 30 MB, whatever the title is.
    """
    ground = parse(cover.colour)
    text = readable_on(ground)
    # Figures are on the far side of the text from the ground, so the text reads still better on them.
    shade = mixed(ground, BLACK if text == WHITE else WHITE, _SHADE)
    title, name = drawable(cover.title[:_MOST_CHARACTERS]), drawable(cover.site[:_MOST_CHARACTERS])
    mirrored = is_right_to_left(title or name or "")
    picture = Image.new("RGB", format_.size, ground)
    _figure(picture, shade, hashlib.sha256(cover.content_id.bytes).digest(), mirrored=mirrored)
    page = _Page(ImageDraw.Draw(picture), picture.width, text, ground, mirrored=mirrored)
    if name:
        page.masthead(name)
    if title:
        top = _MARGIN + _MARK + _GAP if name else _MARGIN
        page.title(title, top, picture.height - _MARGIN, _TITLE_SIZES[format_])
    return _file(picture, format_)


@dataclass(frozen=True, slots=True)
class _Page:
    """Where text stands; mirrored, everything begins at the right edge."""

    canvas: ImageDraw.ImageDraw
    width: int
    text: RGB
    ground: RGB
    mirrored: bool

    def _left(self, offset: float, width: float) -> float:
        """Left end of what is `offset` pixels from the margin that lines begin at."""
        return self.width - _MARGIN - offset - width if self.mirrored else _MARGIN + offset

    def masthead(self, name: str) -> None:
        """The brand's initial in a square, as in its icon, and its name."""
        left = round(self._left(0, _MARK))
        letter, offset = initial(name), 0
        if drawable(letter):
            offset = _MARK + 24
            self.canvas.bitmap((left, _MARGIN), _square(), fill=self.text)
            type_ = Type(42)
            shown = typesetting.fit(letter, _MARK, _MARK, (42,)).lines[0]
            middle = left + (_MARK - type_.width(shown)) / 2
            baseline = _MARGIN + _MARK / 2 + type_.middle(shown)
            type_.draw(self.canvas, (middle, baseline), shown, self.ground)
        room = self.width - 2 * _MARGIN - offset
        block = typesetting.fit(name, room, round(_NAME_SIZES[0] * typesetting.LINE_HEIGHT), _NAME_SIZES)
        baseline = _MARGIN + _MARK / 2 + block.type.size * 0.36
        at = self._left(offset, block.type.width(block.lines[0]))
        block.type.draw(self.canvas, (at, baseline), block.lines[0], self.text)

    def title(self, title: str, top: int, bottom: int, sizes: tuple[int, ...]) -> None:
        """On the foot of the picture, in the room from `top` to `bottom`."""
        block = typesetting.fit(title, self.width - 2 * _MARGIN, bottom - top, sizes)
        leading = block.type.size * typesetting.LINE_HEIGHT
        for number, line in enumerate(block.lines):
            baseline = bottom - (len(block.lines) - 1 - number) * leading - block.type.size * 0.12
            at = self._left(0, block.type.width(line))
            block.type.draw(self.canvas, (at, baseline), line, self.text)


def _square() -> Image.Image:
    """With round corners, as a mask."""
    side = _MARK * _SMOOTHING * 2
    mask = Image.new("L", (side, side))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, side - 1, side - 1), radius=side * 14 // 64, fill=255)
    return mask.reduce(_SMOOTHING * 2)


def _figure(picture: Image.Image, shade: RGB, seed: bytes, *, mirrored: bool) -> None:
    """A quiet pattern in the corner that text leaves free: another one for each article."""
    width, height = (side * _SMOOTHING for side in picture.size)
    mask = Image.new("L", (width, height))
    patterns: tuple[Callable[[ImageDraw.ImageDraw, int, int, bytes], None], ...] = (_rings, _bars, _dots)
    patterns[seed[0] % len(patterns)](ImageDraw.Draw(mask), width, height, seed[1:])
    mask = mask.reduce(_SMOOTHING)
    if mirrored:
        mask = mask.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    picture.paste(shade, (0, 0), mask)


def _rings(canvas: ImageDraw.ImageDraw, width: int, height: int, seed: bytes) -> None:
    """Around a point near the upper right corner."""
    x, y = width - width * (seed[0] % 32) // 160, height * (seed[1] % 32) // 128
    step = 90 + seed[2] % 60
    for radius in range(step, width * 5 // 8, step):
        canvas.ellipse((x - radius, y - radius, x + radius, y + radius), outline=255, width=step // 3)


def _bars(canvas: ImageDraw.ImageDraw, width: int, height: int, seed: bytes) -> None:
    """Slanting, thinner from right to left."""
    slope, step = height * (3 + seed[0] % 4) // 8, 130 + seed[1] % 60
    for number in range(9):
        right = width + slope - number * step
        thickness = step * (10 - number) // 18
        canvas.polygon(
            (
                (right, 0),
                (right - slope, height),
                (right - slope - thickness, height),
                (right - thickness, 0),
            ),
            fill=255,
        )


def _dots(canvas: ImageDraw.ImageDraw, width: int, _height: int, seed: bytes) -> None:
    """In rows, smaller from the upper right corner on."""
    step = 100 + seed[0] % 40
    reach = 9 + seed[1] % 4
    for column in range(reach):
        for row in range(reach):
            radius = step * (reach - column - row) // (2 * reach)
            if radius > 0:
                x, y = width - step // 2 - column * step, step // 2 + row * step
                canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)


def _file(picture: Image.Image, format_: Format) -> bytes:
    file = BytesIO()
    if format_ is Format.LINK:
        # Two colours and what lies between them: half the bytes with a palette, and nothing to be seen of it.
        picture.quantize(_PALETTE, dither=Image.Dither.NONE).save(file, "PNG", compress_level=6)
    else:
        picture.save(file, "JPEG", quality=85, subsampling=0, optimize=True)
    return file.getvalue()
