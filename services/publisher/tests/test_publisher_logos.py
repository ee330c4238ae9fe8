"""Uploaded logos: the kept parts of a file, refusals with their reasons, and the background that a logo needs."""

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from PIL import Image, ImageChops, ImageDraw, PngImagePlugin

from publisher.covers import Cover, Format
from publisher.covers.drawing import draw
from publisher.domain import LogoBackground, UnusableLogoError
from publisher.logo_backgrounds import COLOURS, visible_share
from publisher.logos.logo_file import MAX_PIXELS, MAX_SCANS, normalise_logo

DARK, PALE = (20, 24, 40), (250, 250, 245)
GROUND = "#1f6154"


def wordmark(
    colour: tuple[int, int, int], size: tuple[int, int] = (600, 160), margin: int = 20
) -> Image.Image:
    """Strokes on nothing, with transparent margins."""
    picture = Image.new("RGBA", size, (0, 0, 0, 0))
    canvas = ImageDraw.Draw(picture)
    for left in range(margin, size[0] - margin, 30):
        canvas.rectangle(
            (left, margin, min(left + 18, size[0] - margin - 1), size[1] - margin - 1), (*colour, 255)
        )
    return picture


def saved(picture: Image.Image, format_: str = "PNG", **options: Any) -> bytes:
    file = BytesIO()
    picture.save(file, format_, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width: int, height: int, data: bytes) -> bytes:
    """A PNG that says to be this large, whatever is in it."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(data))
        + chunk(b"IEND", b"")
    )


def shown(body: bytes) -> Image.Image:
    picture = Image.open(BytesIO(body))
    picture.load()
    return picture


def test_only_the_picture_is_kept_and_nothing_that_came_with_it() -> None:
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Author", "somebody at home")
    exif = Image.Exif()
    exif[0x010E] = "a place"
    script = b"<script>alert(1)</script>"
    file = saved(wordmark(DARK), pnginfo=notes, exif=exif, icc_profile=b"a profile") + b"PK\x03\x04" + script
    logo, body = normalise_logo(file)
    picture = shown(body)
    assert (picture.format, picture.info, picture.size) == ("PNG", {}, (logo.width, logo.height))
    assert picture.getexif() == {}
    for left in (b"somebody", b"a place", b"a profile", b"PK\x03\x04", script):
        assert left not in body
    assert normalise_logo(file) == (logo, body)
    assert normalise_logo(saved(wordmark(DARK)))[0].digest == logo.digest, (
        "what was noted with it makes no other logo"
    )


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "WEBP"])
def test_each_format_is_the_same_picture_afterwards(format_: str) -> None:
    picture = Image.new("RGB", (300, 100), PALE)
    picture.paste((200, 30, 30), (0, 0, 150, 100))
    logo, body = normalise_logo(saved(picture, format_, **({} if format_ == "PNG" else {"quality": 95})))
    assert (logo.width, logo.height, logo.plate) == (300, 100, None)
    assert shown(body).mode == "RGB"
    for place, expected in (((40, 50), (200, 30, 30)), ((260, 50), PALE)):
        pixel = shown(body).getpixel(place)
        assert isinstance(pixel, tuple)
        assert all(abs(a - b) < 8 for a, b in zip(pixel, expected, strict=True))


def test_unusual_pixels_are_understood() -> None:
    grey = Image.new("I;16", (100, 50), 40_000)
    _, body = normalise_logo(saved(grey))
    assert shown(body).getpixel((50, 25)) == (156, 156, 156)
    ink = Image.new("CMYK", (100, 50), (0, 255, 255, 0))
    pixel = shown(normalise_logo(saved(ink, "JPEG"))[1]).getpixel((50, 25))
    assert isinstance(pixel, tuple)
    assert pixel[0] > 200
    assert max(pixel[1:]) < 60
    palette = wordmark(DARK).quantize(8)
    assert normalise_logo(saved(palette))[0].plate is LogoBackground.LIGHT
    held = Image.Exif()
    held[0x0112] = 6
    logo, _ = normalise_logo(saved(Image.new("RGB", (200, 100), DARK), "JPEG", exif=held))
    assert (logo.width, logo.height) == (100, 200), "as it is looked at, not as the camera was held"


@pytest.mark.extended
def test_transparent_margins_go_and_no_logo_is_larger_than_it_is_shown() -> None:
    logo, body = normalise_logo(saved(wordmark(DARK, (700, 300), margin=100)))
    assert logo.height == 100
    assert shown(body).getchannel("A").getbbox() == (0, 0, logo.width, logo.height)
    large, _ = normalise_logo(saved(wordmark(DARK, (2400, 1600))))
    assert large.height == 400
    wide, _ = normalise_logo(saved(wordmark(DARK, (3000, 240))))
    assert wide.width == 1000
    tall, _ = normalise_logo(saved(wordmark(DARK, (240, 3000))))
    assert tall.height == 400


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
FRAMES = [Image.new("RGB", (64, 64), (shade, 0, 0)) for shade in (0, 200)]
MOVING = {"save_all": True, "append_images": FRAMES[1:]}
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "is empty"),
    "SVG": (lambda: SVG, "SVG is not accepted: it can run scripts .* export the logo as PNG"),
    "SVG with a head": (lambda: b'\xef\xbb\xbf<?xml version="1.0"?>' + SVG, "SVG is not accepted"),
    "GIF": (lambda: saved(FRAMES[0], "GIF"), "no PNG, JPEG or WebP"),
    "BMP called PNG": (lambda: saved(FRAMES[0], "BMP"), "no PNG, JPEG or WebP"),
    "text": (lambda: b"a logo", "no PNG, JPEG or WebP"),
    "half a PNG": (lambda: saved(wordmark(DARK))[:400], "broken"),
    "half a JPEG": (lambda: saved(wordmark(DARK).convert("RGB"), "JPEG")[:1500], "broken"),
    "half a WebP": (
        lambda: saved(Image.effect_noise((200, 100), 80).convert("RGB"), "WEBP")[:1500],
        "broken",
    ),
    "damaged": (lambda: saved(wordmark(DARK)).replace(b"IDAT", b"IDAT\0\0", 1), "broken|no PNG"),
    "a bomb by its head": (lambda: png_of(50_000, 50_000, b""), "more than 4,000,000"),
    "a bomb": (lambda: png_of(30_000, 3_000, bytes(3_000 * 90_001)), "more than 4,000,000"),
    "a bomb of text": (
        lambda: (
            png_of(64, 64, bytes(64 * 193))[:33]
            + chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(50_000_000)))
            + png_of(64, 64, bytes(64 * 193))[33:]
        ),
        "broken",
    ),
    "PNG that moves": (lambda: saved(FRAMES[0], "PNG", **MOVING), "animated"),
    "WebP that moves": (lambda: saved(FRAMES[0], "WEBP", **MOVING), "animated"),
    "nothing to see": (lambda: saved(Image.new("RGBA", (200, 200), (0, 0, 0, 8))), "fully transparent"),
    "a dot": (lambda: saved(Image.new("RGB", (20, 20))), "20 × 20 pixels .* at least 32"),  # noqa: RUF001
    "a line": (lambda: saved(Image.new("RGB", (1700, 100))), "at most 16 times as long"),
    "an upright line": (lambda: saved(Image.new("RGB", (100, 1700))), "as high as it is long"),
}


@pytest.mark.extended
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_shown_is_refused_with_what_to_send_instead(name: str) -> None:
    make, why = REFUSED[name]
    file = make()
    tracemalloc.start()
    try:
        with pytest.raises(UnusableLogoError, match=why):
            normalise_logo(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_the_largest_that_is_taken_is_taken() -> None:
    side = int(MAX_PIXELS**0.5)
    logo, _ = normalise_logo(saved(Image.new("RGB", (side, side), DARK), "JPEG"))
    assert (logo.width, logo.height) == (400, 400)


@pytest.mark.parametrize(
    ("colour", "plate"),
    [
        (DARK, LogoBackground.LIGHT),
        (PALE, LogoBackground.DARK),
        ((240, 224, 64), LogoBackground.DARK),
        ((200, 30, 30), None),
        ((230, 120, 20), None),
    ],
    ids=["dark", "pale", "yellow", "red", "orange"],
)
def test_on_pages_a_logo_has_the_plate_that_it_needs_by_day_or_by_night(
    colour: tuple[int, int, int], plate: LogoBackground | None
) -> None:
    logo, body = normalise_logo(saved(wordmark(colour)))
    assert logo.plate is plate
    if plate:
        assert visible_share(shown(body), COLOURS[plate]) == 1


def colours_of(box: tuple[int, int, int, int], logo: bytes | None, format_: Format = Format.LINK) -> set[Any]:
    cover = Cover(
        UUID(int=7), "Cold brew at home", "The Daily Grind", GROUND, "0123456789abcdef" if logo else None
    )
    picture = shown(draw(cover, format_, logo)).convert("RGB").crop(box)
    found = picture.getcolors(picture.width * picture.height)
    assert found is not None
    return {colour for count, colour in found if count > 200}


MIDDLES = {Format.LINK: 571, Format.PORTRAIT: 1215}
"""The height of logo and name on a cover."""


@pytest.mark.parametrize("format_", MIDDLES)
@pytest.mark.parametrize(
    ("colour", "has_plate"),
    [(DARK, True), (PALE, False), ((0x35, 0x80, 0x70), True), ((0xF0, 0xE0, 0x40), False)],
    ids=["dark", "pale", "like the ground", "yellow"],
)
def test_on_covers_a_plate_makes_seen_what_the_ground_would_swallow(
    colour: tuple[int, int, int], has_plate: bool, format_: Format
) -> None:
    _, body = normalise_logo(saved(wordmark(colour)))
    # Where the logo is: strokes, and what shows between them.
    found = colours_of((84, MIDDLES[format_] - 30, 244, MIDDLES[format_] + 30), body, format_)
    assert has(found, colour)
    assert has(found, (255, 255, 255) if has_plate else (0x1F, 0x61, 0x54))
    assert not has(found, (0x1F, 0x61, 0x54) if has_plate else (0, 0, 0))


def has(found: set[Any], colour: tuple[int, int, int]) -> bool:
    return any(max(abs(a - b) for a, b in zip(each, colour, strict=True)) < 8 for each in found)


def test_on_covers_logos_of_any_shape_keep_to_their_room() -> None:
    for size in ((1500, 100), (100, 1500), (300, 300), (40, 40)):
        _, body = normalise_logo(saved(Image.new("RGB", size, (250, 0, 250))))
        for format_, middle in MIDDLES.items():
            cover = Cover(UUID(int=7), "Cold brew", "The Daily Grind", GROUND, "0123456789abcdef")
            picture = shown(draw(cover, format_, body)).convert("RGB")
            pink = Image.eval(picture.getchannel("R"), lambda red: 255 * (red > 240))
            pink = ImageChops.multiply(
                pink, Image.eval(picture.getchannel("G"), lambda green: 255 * (green < 20))
            )
            box = pink.getbbox()
            assert box is not None, size
            left, top, right, bottom = box
            assert 62 <= left < right <= 586, size
            assert middle - 50 <= top < bottom <= middle + 50, size


def test_the_name_stands_beside_a_logo_that_has_no_room_for_it() -> None:
    for size, has_name in (((300, 300), True), ((100, 300), True), ((900, 300), False)):
        _, body = normalise_logo(saved(Image.new("RGB", size, (250, 0, 250))))
        assert has(colours_of((314, 537, 464, 605), body), (255, 255, 255)) is has_name


def jpeg_of_scans(scans: int) -> bytes:
    """A progressive JPEG whose last scan comes again and again."""
    file = saved(Image.new("RGB", (400, 200), DARK), "JPEG", progressive=True)
    last = file[file.rindex(b"\xff\xda") : -2]
    return file[:-2] + last * (scans - file.count(b"\xff\xda")) + b"\xff\xd9"


def test_a_picture_that_takes_long_to_decode_is_refused_before_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(1_000_000)))
    png = saved(Image.new("RGB", (400, 200), DARK))
    assert normalise_logo(jpeg_of_scans(MAX_SCANS))[0].width == 400
    assert normalise_logo(png[:33] + profile + png[33:])[0].width == 400
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("it is decoded"))
    with pytest.raises(UnusableLogoError, match="JPEG of 4,000 scans, more than 100"):
        normalise_logo(jpeg_of_scans(4_000))
    with pytest.raises(UnusableLogoError, match="PNG with 900 colour profiles"):
        normalise_logo(png[:33] + profile * 900 + png[33:])
