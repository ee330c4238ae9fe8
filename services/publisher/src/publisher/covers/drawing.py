"""Draws covers as pictures. The same cover and Pillow version give the same bytes on any machine."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw

from publisher.colours import BLACK, RGB, WHITE, mixed, parse, readable_on
from publisher.covers import typesetting
from publisher.covers.cover import Cover, Format
from publisher.covers.fonts import CoverFont
from publisher.covers.right_to_left import is_right_to_left
from publisher.covers.scripts import drawable
from publisher.domain import initial
from publisher.logo_backgrounds import CLEARLY, COLOURS, SEEN, best_background, is_opaque, visible_share

_MARGIN: Final = 80
_MARK: Final = 68
"""Side of the square with the initial, in pixels."""
_BESIDE: Final = 24
"""Space between the square or logo and the brand's name, in pixels."""
_LOGO: Final = (520, 96)
"""Largest logo with its background, in pixels: slightly taller than the square."""
_PLATE_MARGIN: Final = 14
_WITHOUT_NAME: Final = 2
"""A logo with more than this ratio of width to height is assumed to contain the brand's name."""
_GAP: Final = 56
"""Least space between the brand's name and the title, in pixels."""
_MOST_CHARACTERS: Final = 2_000
"""Longest part of a title to measure; the rest never fits."""
_NAME_SIZES: Final = (36, 32, 28, 24)
_TITLE_SIZES: Final = {
    Format.LINK: (96, 88, 80, 72, 64, 56, 50, 44, 38, 34),
    Format.PORTRAIT: (124, 112, 100, 90, 80, 72, 64, 56, 50, 44, 38, 34),
}
_SMOOTHING: Final = 2
_SHADE: Final = 0.16
_PALETTE: Final = 128


def draw(cover: Cover, format_: Format, logo: bytes | None = None) -> bytes:
    """Draws the cover and returns the file's bytes.

    Leaves out a title or name with characters that the typefaces lack. Takes about 0.1 s of one processor and 30 MB.

    Args:
        cover: the content.
        format_: the file format and size.
        logo: the logo's file, if the cover has one.
    """
    ground = parse(cover.colour)
    text = readable_on(ground)
    # Patterns contrast with the text more than the background does, so text stays readable on them.
    shade = mixed(ground, BLACK if text == WHITE else WHITE, _SHADE)
    title, name = drawable(cover.title[:_MOST_CHARACTERS]), drawable(cover.site[:_MOST_CHARACTERS])
    mirrored = is_right_to_left(title or name or "")
    picture = Image.new("RGB", format_.size, ground)
    _figure(picture, shade, hashlib.sha256(cover.content_id.bytes).digest(), mirrored=mirrored)
    page = _CoverLayout(picture, ImageDraw.Draw(picture), text, ground, mirrored=mirrored)
    if logo:
        page.masthead_with(Image.open(BytesIO(logo), formats=["PNG"]), name)
    elif name:
        page.masthead(name)
    if title:
        top = _MARGIN + _MARK + _GAP if name or logo else _MARGIN
        page.title(title, top, picture.height - _MARGIN, _TITLE_SIZES[format_])
    return _file(picture, format_, few_colours=logo is None)


@dataclass(frozen=True, slots=True)
class _CoverLayout:
    """Positions of text and logo; a right-to-left layout mirrors them."""

    picture: Image.Image
    canvas: ImageDraw.ImageDraw
    text: RGB
    ground: RGB
    mirrored: bool

    def _left(self, offset: float, width: float) -> float:
        """The left edge of an element that begins `offset` pixels from the starting margin."""
        return self.picture.width - _MARGIN - offset - width if self.mirrored else _MARGIN + offset

    def masthead(self, name: str) -> None:
        """Draws the brand's initial in a square, as in its icon, and its name."""
        left = round(self._left(0, _MARK))
        letter, offset = initial(name), 0
        if drawable(letter):
            offset = _MARK + _BESIDE
            self.canvas.bitmap((left, _MARGIN), _square(), fill=self.text)
            type_ = CoverFont(42)
            shown = typesetting.fit(letter, _MARK, _MARK, (42,)).lines[0]
            middle = left + (_MARK - type_.width(shown)) / 2
            baseline = _MARGIN + _MARK / 2 + type_.middle(shown)
            type_.draw(self.canvas, (middle, baseline), shown, self.ground)
        self._name(name, offset)

    def masthead_with(self, logo: Image.Image, name: str | None) -> None:
        """Draws the logo, with a background if it needs one for contrast, and the name beside a narrow logo."""
        plate = _plate_on(logo, self.ground)
        margin = 0 if plate is None else _PLATE_MARGIN
        high = _LOGO[1] - 2 * margin
        width, height = _within(logo.size, (_LOGO[0] - 2 * margin, high))
        # At the height of a wide logo, a tall one would be a thin line.
        chip = (max(width, min(height, high)) if plate else width) + 2 * margin, height + 2 * margin
        left, top = round(self._left(0, chip[0])), round(_MARGIN + _MARK / 2 - chip[1] / 2)
        if plate is not None:
            self.canvas.rounded_rectangle(
                (left, top, left + chip[0] - 1, top + chip[1] - 1), radius=_PLATE_MARGIN, fill=plate
            )
        shown = logo.convert("RGBA").resize((width, height), Image.Resampling.LANCZOS)
        self.picture.paste(shown, (left + (chip[0] - width) // 2, top + margin), shown)
        if name and logo.width <= _WITHOUT_NAME * logo.height:
            self._name(name, chip[0] + _BESIDE)

    def _name(self, name: str, offset: int) -> None:
        room = self.picture.width - 2 * _MARGIN - offset
        block = typesetting.fit(name, room, round(_NAME_SIZES[0] * typesetting.LINE_HEIGHT), _NAME_SIZES)
        baseline = _MARGIN + _MARK / 2 + block.type.size * 0.36
        at = self._left(offset, block.type.width(block.lines[0]))
        block.type.draw(self.canvas, (at, baseline), block.lines[0], self.text)

    def title(self, title: str, top: int, bottom: int, sizes: tuple[int, ...]) -> None:
        """Draws the title at the bottom of the area from `top` to `bottom`."""
        block = typesetting.fit(title, self.picture.width - 2 * _MARGIN, bottom - top, sizes)
        leading = block.type.size * typesetting.LINE_HEIGHT
        for number, line in enumerate(block.lines):
            baseline = bottom - (len(block.lines) - 1 - number) * leading - block.type.size * 0.12
            at = self._left(0, block.type.width(line))
            block.type.draw(self.canvas, (at, baseline), line, self.text)


def _within(size: tuple[int, int], room: tuple[int, int]) -> tuple[int, int]:
    """Scales a size to fit the room, keeping its proportions."""
    scale = min(room[0] / size[0], room[1] / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _plate_on(logo: Image.Image, ground: RGB) -> RGB | None:
    """The background colour that the logo needs on this colour; None if it is visible without one."""
    if is_opaque(logo):
        # An opaque logo fills its rectangle; a background of its own colour adds a margin.
        red, green, blue = logo.convert("RGB").crop((0, 0, 1, 1)).tobytes()
        return red, green, blue
    return None if visible_share(logo, ground, least=CLEARLY) >= SEEN else COLOURS[best_background(logo)]


def _square() -> Image.Image:
    """A mask of a square with round corners."""
    side = _MARK * _SMOOTHING * 2
    mask = Image.new("L", (side, side))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, side - 1, side - 1), radius=side * 14 // 64, fill=255)
    return mask.reduce(_SMOOTHING * 2)


def _figure(picture: Image.Image, shade: RGB, seed: bytes, *, mirrored: bool) -> None:
    """Draws a quiet pattern, specific to the article, in the corner without text."""
    width, height = (side * _SMOOTHING for side in picture.size)
    mask = Image.new("L", (width, height))
    patterns: tuple[Callable[[ImageDraw.ImageDraw, int, int, bytes], None], ...] = (_rings, _bars, _dots)
    patterns[seed[0] % len(patterns)](ImageDraw.Draw(mask), width, height, seed[1:])
    mask = mask.reduce(_SMOOTHING)
    if mirrored:
        mask = mask.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    picture.paste(shade, (0, 0), mask)


def _rings(canvas: ImageDraw.ImageDraw, width: int, height: int, seed: bytes) -> None:
    """Draws circles around a point near the upper right corner."""
    x, y = width - width * (seed[0] % 32) // 160, height * (seed[1] % 32) // 128
    step = 90 + seed[2] % 60
    for radius in range(step, width * 5 // 8, step):
        canvas.ellipse((x - radius, y - radius, x + radius, y + radius), outline=255, width=step // 3)


def _bars(canvas: ImageDraw.ImageDraw, width: int, height: int, seed: bytes) -> None:
    """Draws slanting bars that get thinner from right to left."""
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
    """Draws rows of dots that get smaller from the upper right corner."""
    step = 100 + seed[0] % 40
    reach = 9 + seed[1] % 4
    for column in range(reach):
        for row in range(reach):
            radius = step * (reach - column - row) // (2 * reach)
            if radius > 0:
                x, y = width - step // 2 - column * step, step // 2 + row * step
                canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)


def _file(picture: Image.Image, format_: Format, *, few_colours: bool) -> bytes:
    file = BytesIO()
    if format_ is Format.LINK:
        if few_colours:
            # Few colours: a palette halves the bytes, with no visible difference.
            picture = picture.quantize(_PALETTE, dither=Image.Dither.NONE)
        picture.save(file, "PNG", compress_level=6)
    else:
        picture.save(file, "JPEG", quality=85, subsampling=0, optimize=True)
    return file.getvalue()
