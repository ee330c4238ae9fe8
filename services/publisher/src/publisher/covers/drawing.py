"""Draws covers as pictures. The same cover and Pillow version give the same bytes on any machine.

A cover has the brand's name and mark below a pattern in shades of the brand's colour, or below a bar chart of the article's figures.
Its headline is not on it: wherever a cover is shown, the headline stands beside it.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Final

from PIL import Image, ImageChops, ImageDraw

from publisher.colours import BLACK, RGB, WHITE, mixed, parse, readable_on
from publisher.covers import typesetting
from publisher.covers.cover import Cover, Format
from publisher.covers.fonts import CoverFont
from publisher.covers.right_to_left import is_right_to_left
from publisher.covers.scripts import drawable
from publisher.domain import initial
from publisher.figures import Figure
from publisher.logo_backgrounds import CLEARLY, COLOURS, SEEN, best_background, is_opaque, visible_share

_MARGIN: Final = 64
_MARK: Final = 68
"""Side of the square with the initial, in pixels."""
_BESIDE: Final = 24
"""Space between the square or logo and the brand's name, in pixels."""
_LOGO: Final = (520, 96)
"""Largest logo with its background, in pixels: slightly taller than the square."""
_PLATE_MARGIN: Final = 14
_WITHOUT_NAME: Final = 2
"""A logo with more than this ratio of width to height is assumed to contain the brand's name."""
_MOST_CHARACTERS: Final = 2_000
"""Longest part of a name to measure; the rest never fits."""
_NAME_SIZES: Final = (44, 40, 36, 32, 28, 24)
_LABEL_SIZES: Final = (34, 30, 26)
_TILES: Final = {Format.LINK: (7, 3), Format.PORTRAIT: (5, 5)}
"""Columns and rows of the pattern; what is left of the height is the band with the brand's name."""
_SMOOTHING: Final = 2
_PALETTE: Final = 128
_PAPER: Final[RGB] = (0xFC, 0xFB, 0xF8)
_INK: Final[RGB] = (0x23, 0x21, 0x1D)


def draw(cover: Cover, format_: Format, logo: bytes | None = None) -> bytes:
    """Draws the cover and returns the file's bytes.

    Leaves out a name or label with characters that the typefaces lack. Takes about 0.1 s of one processor and 30 MB.

    Args:
        cover: the content.
        format_: the file format and size.
        logo: the logo's file, if the cover has one.
    """
    whole = Format.LINK if format_ is Format.LIST else format_
    picture = _picture(cover, whole, logo)
    if whole is not format_:
        above = picture.width * format_.size[1] / format_.size[0]
        picture = picture.resize(format_.size, Image.Resampling.LANCZOS, (0, 0, picture.width, above))
    return _file(picture, format_, few_colours=logo is None)


def _picture(cover: Cover, format_: Format, logo: bytes | None) -> Image.Image:
    ground = parse(cover.colour)
    columns, rows = _TILES[format_]
    tile = format_.size[0] // columns
    picture = Image.new("RGB", format_.size, ground)
    seed = hashlib.shake_256(cover.content_id.bytes).digest(4 * columns * rows + 8)
    # The band takes what the tiles leave; a line of ground shows at the right where they do not come out even.
    pattern = _pattern(columns, rows, tile, _shades(ground), seed)
    picture.paste(pattern.resize((format_.size[0], rows * tile), Image.Resampling.BOX), (0, 0))
    figure = None if cover.figure is None else Figure.of_json(cover.figure)
    if figure is not None:
        _Chart(picture, rows * tile, format_.size[0] - tile, ground).draw(figure)
    name = drawable(cover.site[:_MOST_CHARACTERS])
    band = _Band(
        picture,
        ImageDraw.Draw(picture),
        readable_on(ground),
        ground,
        rows * tile,
        is_right_to_left(name or ""),
    )
    if logo:
        band.logo(Image.open(BytesIO(logo), formats=["PNG"]), name)
    elif name:
        band.mark(name)
    return picture


# -- the brand's name ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Band:
    """The band below the pattern; a right-to-left layout mirrors it."""

    picture: Image.Image
    canvas: ImageDraw.ImageDraw
    text: RGB
    ground: RGB
    top: int
    mirrored: bool

    @property
    def _middle(self) -> float:
        return (self.top + self.picture.height) / 2

    def _left(self, offset: float, width: float) -> float:
        """The left edge of an element that begins `offset` pixels from the starting margin."""
        return self.picture.width - _MARGIN - offset - width if self.mirrored else _MARGIN + offset

    def mark(self, name: str) -> None:
        """Draws the brand's initial in a square, as in its icon, and its name."""
        letter, offset = initial(name), 0
        if drawable(letter):
            offset = _MARK + _BESIDE
            left = round(self._left(0, _MARK))
            self.canvas.bitmap((left, round(self._middle - _MARK / 2)), _square(), fill=self.text)
            type_ = CoverFont(42)
            shown = typesetting.fit(letter, _MARK, (42,)).text
            baseline = self._middle + type_.middle(shown)
            type_.draw(self.canvas, (left + (_MARK - type_.width(shown)) / 2, baseline), shown, self.ground)
        self._name(name, offset)

    def logo(self, logo: Image.Image, name: str | None) -> None:
        """Draws the logo, with a background if it needs one for contrast, and the name beside a narrow logo."""
        plate = _plate_on(logo, self.ground)
        margin = 0 if plate is None else _PLATE_MARGIN
        high = _LOGO[1] - 2 * margin
        width, height = _within(logo.size, (_LOGO[0] - 2 * margin, high))
        # At the height of a wide logo, a tall one would be a thin line.
        chip = (max(width, min(height, high)) if plate else width) + 2 * margin, height + 2 * margin
        left, top = round(self._left(0, chip[0])), round(self._middle - chip[1] / 2)
        if plate is not None:
            self.canvas.rounded_rectangle(
                (left, top, left + chip[0] - 1, top + chip[1] - 1), radius=_PLATE_MARGIN, fill=plate
            )
        shown = logo.convert("RGBA").resize((width, height), Image.Resampling.LANCZOS)
        self.picture.paste(shown, (left + (chip[0] - width) // 2, top + margin), shown)
        if name and logo.width <= _WITHOUT_NAME * logo.height:
            self._name(name, chip[0] + _BESIDE)

    def _name(self, name: str, offset: float) -> None:
        line = typesetting.fit(name, self.picture.width - 2 * _MARGIN - offset, _NAME_SIZES)
        line.draw(self.canvas, self._left(offset, line.width), self._middle, self.text)


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


# -- the article's figures -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Chart:
    """A bar chart on paper; the pattern stays visible at its right."""

    picture: Image.Image
    height: int
    width: int
    colour: RGB

    def draw(self, figure: Figure) -> None:
        canvas = ImageDraw.Draw(self.picture)
        canvas.rectangle((0, 0, self.width - 1, self.height - 1), fill=_PAPER)
        # On paper, a light colour would be no bar.
        bar = self.colour if readable_on(self.colour) == WHITE else mixed(self.colour, BLACK, 0.35)
        top = _MARGIN
        if head := drawable(figure.head):
            line = typesetting.fit(head, self.width - 2 * _MARGIN, _LABEL_SIZES)
            line.draw(canvas, _MARGIN, top, mixed(_INK, _PAPER, 0.35))
            top += 44
        step = (self.height - top - _MARGIN / 2) / len(figure.rows)
        labels = [
            typesetting.fit(drawable(row.label) or "", self.width * 0.36, _LABEL_SIZES) for row in figure.rows
        ]
        values = [
            typesetting.fit(drawable(row.shown) or "", self.width * 0.16, _LABEL_SIZES) for row in figure.rows
        ]
        left = _MARGIN + max(line.width for line in labels) + _BESIDE
        room = self.width - left - _MARGIN - max(line.width for line in values)
        largest = max(row.value for row in figure.rows)
        for number, row in enumerate(figure.rows):
            middle, half = top + step * (number + 0.5), min(step * 0.3, 34)
            labels[number].draw(canvas, left - _BESIDE - labels[number].width, middle, _INK)
            end = left + max(4.0, room * row.value / largest)
            canvas.rounded_rectangle((left, middle - half, end, middle + half), radius=6, fill=bar)
            values[number].draw(canvas, end + _BESIDE / 2, middle, _INK)


# -- the pattern ---------------------------------------------------------------------------------------------------------


def _shades(ground: RGB) -> tuple[RGB, ...]:
    """The brand's colour, darker and lighter."""
    return (
        ground,
        mixed(ground, BLACK, 0.3),
        mixed(ground, BLACK, 0.55),
        mixed(ground, WHITE, 0.35),
        mixed(ground, WHITE, 0.65),
        mixed(ground, WHITE, 0.88),
    )


def _pattern(columns: int, rows: int, tile: int, shades: tuple[RGB, ...], seed: bytes) -> Image.Image:
    """Tiles of a few shapes, chosen by the seed: four bytes each, behind three that choose the shapes."""
    picture = Image.new("RGB", (columns * tile, rows * tile))
    chosen = [_SHAPES[seed[at] % len(_SHAPES)] for at in range(3)]
    for number, place in enumerate(_places(columns, rows, tile)):
        shape, turn, back, front = seed[8 + 4 * number : 12 + 4 * number]
        below = shades[back % len(shades)]
        # Another shade than the one below, and not the next one: shapes are to be seen.
        above = shades[(back + 2 + front % (len(shades) - 3)) % len(shades)]
        mask = Image.new("L", (tile * _SMOOTHING, tile * _SMOOTHING))
        chosen[shape % len(chosen)](mask)
        mask = mask.reduce(_SMOOTHING).rotate(90 * (turn % 4))
        picture.paste(below, (*place, place[0] + tile, place[1] + tile))
        picture.paste(above, place, mask)
    return picture


def _places(columns: int, rows: int, tile: int) -> Iterator[tuple[int, int]]:
    for row in range(rows):
        for column in range(columns):
            yield column * tile, row * tile


def _quarter(mask: Image.Image) -> None:
    side = mask.width
    ImageDraw.Draw(mask).ellipse((-side, 0, side - 1, 2 * side - 1), fill=255)


def _half(mask: Image.Image) -> None:
    side = mask.width
    ImageDraw.Draw(mask).ellipse((-side // 2, 0, side // 2, side - 1), fill=255)


def _circle(mask: Image.Image) -> None:
    side = mask.width
    ImageDraw.Draw(mask).ellipse((side // 6, side // 6, side * 5 // 6, side * 5 // 6), fill=255)


def _triangle(mask: Image.Image) -> None:
    side = mask.width
    ImageDraw.Draw(mask).polygon(((0, 0), (side, side), (0, side)), fill=255)


def _leaf(mask: Image.Image) -> None:
    other = Image.new("L", mask.size)
    _quarter(mask)
    side = mask.width
    ImageDraw.Draw(other).ellipse((0, -side, 2 * side - 1, side - 1), fill=255)
    mask.paste(ImageChops.multiply(mask, other))


def _arcs(mask: Image.Image) -> None:
    side, canvas = mask.width, ImageDraw.Draw(mask)
    for number, fill in enumerate((255, 0, 255, 0, 255)):
        radius = side * (5 - number) // 5
        canvas.ellipse((-radius, side - radius, radius, side + radius), fill=fill)


def _stripes(mask: Image.Image) -> None:
    side, canvas = mask.width, ImageDraw.Draw(mask)
    for number in range(4):
        canvas.rectangle((number * side // 4, 0, number * side // 4 + side // 8, side), fill=255)


def _dots(mask: Image.Image) -> None:
    side, canvas = mask.width, ImageDraw.Draw(mask)
    for number in range(9):
        x, y = side * (2 * (number % 3) + 1) // 6, side * (2 * (number // 3) + 1) // 6
        canvas.ellipse((x - side // 12, y - side // 12, x + side // 12, y + side // 12), fill=255)


_SHAPES: Final[tuple[Callable[[Image.Image], None], ...]] = (
    _quarter,
    _half,
    _circle,
    _triangle,
    _leaf,
    _arcs,
    _stripes,
    _dots,
)


def _file(picture: Image.Image, format_: Format, *, few_colours: bool) -> bytes:
    file = BytesIO()
    match format_:
        case Format.LINK:
            if few_colours:
                # Few colours: a palette halves the bytes, with no visible difference.
                picture = picture.quantize(_PALETTE, dither=Image.Dither.NONE)
            picture.save(file, "PNG", compress_level=6)
        case Format.PORTRAIT:
            picture.save(file, "JPEG", quality=85, subsampling=0, optimize=True)
        case Format.LIST:
            picture.save(file, "WEBP", quality=80, method=6)
    return file.getvalue()
