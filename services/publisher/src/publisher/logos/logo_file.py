"""Turns an uploaded file into a logo: decodes it within limits and draws it anew.

Metadata of the file (places, names, comments, profiles, appended files) is lost.
"""

import hashlib
from io import BytesIO
from typing import Final

from PIL import Image, ImageOps, UnidentifiedImageError

from publisher.domain import Logo, UnusableLogoError
from publisher.logo_backgrounds import background_on_pages, is_opaque

MAX_PIXELS: Final = 4_000_000
"""16 MB of memory when decoded."""
_FORMATS: Final = ("PNG", "JPEG", "WEBP")
MAX_SCANS: Final = 100
"""Scans of a JPEG; each goes over all pixels. A hundred take about 0.2 s; programs write about ten."""
_SCAN: Final = b"\xff\xda"
_PROFILE: Final = b"iCCP"
"""The type of a PNG's colour profile chunk; each unpacks to at most 1 MB."""
_LONGEST: Final = 16
"""Largest ratio of the longer side to the shorter."""
_SMALLEST: Final = 32
"""Least length of the longer side, in pixels."""
_KEPT_WITHIN: Final = (1000, 400)
"""Twice the largest size on pages and covers, in pixels."""
_VISIBLE: Final = 16
"""Pixels with at least this alpha count as visible."""


def normalise_logo(file: bytes) -> tuple[Logo, bytes]:
    """The logo in the file, and a PNG of it without transparent margins. The same file gives the same PNG.

    Takes at most about 0.3 s of one processor and 80 MB.

    Raises:
        UnusableLogoError: the file cannot be a logo.
    """
    picture = _trim(_to_rgb(_decode(file)))
    long, short = max(picture.size), min(picture.size)
    if long < _SMALLEST:
        raise UnusableLogoError(
            f"the logo is {_size_text(picture)} pixels without its transparent margins; send one of at least {_SMALLEST}"
        )
    if long > _LONGEST * short:
        raise UnusableLogoError(
            f"the logo is {_size_text(picture)} pixels without its transparent margins, which fits nowhere; "
            f"send one that is at most {_LONGEST} times as long as it is high, or as high as it is long"
        )
    picture.thumbnail(_KEPT_WITHIN, Image.Resampling.LANCZOS)
    # A new picture carries no metadata of the old one.
    clean = Image.new(picture.mode, picture.size)
    clean.paste(picture)
    out = BytesIO()
    clean.save(out, "PNG", optimize=True)
    body = out.getvalue()
    digest = hashlib.sha256(body).hexdigest()[:16]
    return Logo(digest, clean.width, clean.height, background_on_pages(clean)), body


def _decode(file: bytes) -> Image.Image:
    if not file:
        raise UnusableLogoError("the file is empty; send the logo as the body")
    if _is_svg(file):
        raise UnusableLogoError(
            "SVG is not accepted: it can run scripts and load external files; export the logo as PNG"
        )
    _check_decoding_cost(file)
    try:
        # Reads only the header: the size is known before decoding.
        picture = Image.open(BytesIO(file), formats=_FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large() from error
    except UnidentifiedImageError as error:
        raise UnusableLogoError("the file is no PNG, JPEG or WebP; export the logo as PNG") from error
    except Exception as error:
        raise _broken() from error
    if picture.width * picture.height > MAX_PIXELS:
        raise _too_large(picture)
    if getattr(picture, "is_animated", False):
        raise UnusableLogoError("the logo is animated, and covers are not; send a single picture")
    try:
        picture.load()
        # Applies the orientation that cameras and phones record.
        return ImageOps.exif_transpose(picture)
    except Exception as error:  # any error of a decoder means a broken file
        raise _broken() from error


def _check_decoding_cost(file: bytes) -> None:
    """Raises UnusableLogoError if a small file would take long to decode. Counts bytes without decoding."""
    if file.startswith(b"\xff\xd8") and (scans := file.count(_SCAN)) > MAX_SCANS:
        raise UnusableLogoError(
            f"the logo is a JPEG of {scans:,} scans, more than {MAX_SCANS}; export it again, or as PNG"
        )
    if file.startswith(b"\x89PNG") and (profiles := file.count(_PROFILE)) > 1:
        raise UnusableLogoError(
            f"the logo is a PNG with {profiles:,} colour profiles, more than one; export the logo again"
        )


def _to_rgb(picture: Image.Image) -> Image.Image:
    """Converts to RGB, or to RGBA if any pixel is translucent."""
    if picture.mode.startswith("I;16"):
        # The upper eight bits; a plain conversion would clip bright pixels.
        picture = picture.point(lambda value: value / 256).convert("L")
    picture = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
    if is_opaque(picture) or picture.getchannel("A").getextrema() != (255, 255):
        return picture
    return picture.convert("RGB")


def _trim(picture: Image.Image) -> Image.Image:
    if is_opaque(picture):
        return picture
    box = picture.getchannel("A").point(lambda alpha: 255 * (alpha >= _VISIBLE)).getbbox()
    if box is None:
        raise UnusableLogoError("the logo is fully transparent; send another")
    return picture.crop(box)


def _is_svg(file: bytes) -> bool:
    begin = file[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return begin.startswith((b"<svg", b"<?xml", b"<!doctype svg"))


def _size_text(picture: Image.Image) -> str:
    return f"{picture.width:,} × {picture.height:,}"  # noqa: RUF001 - as sizes are written


def _too_large(picture: Image.Image | None = None) -> UnusableLogoError:
    size = f"{_size_text(picture)} pixels, " if picture else ""
    return UnusableLogoError(f"the logo has {size}more than {MAX_PIXELS:,} in all; send a smaller one")


def _broken() -> UnusableLogoError:
    return UnusableLogoError("the file is broken: decoding failed before its end; export the logo again")
