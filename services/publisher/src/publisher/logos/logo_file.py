"""A file of somebody's as a logo of ours: decoded within bounds, and drawn anew, so that nothing but the picture is left.

What travels in files besides the picture (places, names, comments, profiles, other files behind it) is gone.
"""

import hashlib
from io import BytesIO
from typing import Final

from PIL import Image, ImageOps, UnidentifiedImageError

from publisher.domain import Logo, UnusableLogoError
from publisher.logo_backgrounds import background_on_pages, is_opaque

MAX_PIXELS: Final = 4_000_000
"""16 MB of memory while it is decoded."""
_FORMATS: Final = ("PNG", "JPEG", "WEBP")
MAX_SCANS: Final = 100
"""Of a JPEG, each of which goes over all pixels: some 0.2 s for a hundred. Programs write about ten."""
_SCAN: Final = b"\xff\xda"
_PROFILE: Final = b"iCCP"
"""The kind of a PNG's chunk; each is unpacked to at most 1 MB."""
_LONGEST: Final = 16
"""Times the shorter side."""
_SMALLEST: Final = 32
"""Of the longer side, in pixels."""
_KEPT_WITHIN: Final = (1000, 400)
"""Twice what any page or cover shows, in pixels."""
_VISIBLE: Final = 16
"""An alpha from which on something is to be seen."""


def normalise_logo(file: bytes) -> tuple[Logo, bytes]:
    """The logo in the file, and a PNG of it without transparent margins, as large as is needed; of the same file, the same.

    Takes some 0.3 s of one processor and 80 MB at most.

    Raises:
        UnusableLogoError: it is none that could be shown.
    """
    picture = _trimmed(_plain(_decoded(file)))
    long, short = max(picture.size), min(picture.size)
    if long < _SMALLEST:
        raise UnusableLogoError(
            f"the logo is {_shown(picture)} pixels without its transparent margins; send one of at least {_SMALLEST}"
        )
    if long > _LONGEST * short:
        raise UnusableLogoError(
            f"the logo is {_shown(picture)} pixels without its transparent margins, which no place has room for; "
            f"send one that is at most {_LONGEST} times as long as it is high, or as high as it is long"
        )
    picture.thumbnail(_KEPT_WITHIN, Image.Resampling.LANCZOS)
    # Onto a new picture: what was noted with the old one stays behind.
    clean = Image.new(picture.mode, picture.size)
    clean.paste(picture)
    out = BytesIO()
    clean.save(out, "PNG", optimize=True)
    body = out.getvalue()
    digest = hashlib.sha256(body).hexdigest()[:16]
    return Logo(digest, clean.width, clean.height, background_on_pages(clean)), body


def _decoded(file: bytes) -> Image.Image:
    if not file:
        raise UnusableLogoError("the file is empty; send the logo as the body")
    if _is_svg(file):
        raise UnusableLogoError(
            "SVG is not taken: such a file can run scripts and load things from elsewhere; export the logo as PNG"
        )
    _check_decoding_cost(file)
    try:
        # The head alone: how large it is is known before anything is decoded.
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
        raise UnusableLogoError("the logo is animated, and would not move on a cover; send a single picture")
    try:
        picture.load()
        # As it is meant to be looked at: cameras and phones note how they were held.
        return ImageOps.exif_transpose(picture)
    except Exception as error:  # whatever a decoder stumbles over, the file is the reason
        raise _broken() from error


def _check_decoding_cost(file: bytes) -> None:
    """Raises UnusableLogoError: a small file would take long to decode. Counts bytes, decodes nothing."""
    if file.startswith(b"\xff\xd8") and (scans := file.count(_SCAN)) > MAX_SCANS:
        raise UnusableLogoError(
            f"the logo is a JPEG of {scans:,} scans, more than {MAX_SCANS}; export it again, or as PNG"
        )
    if file.startswith(b"\x89PNG") and (profiles := file.count(_PROFILE)) > 1:
        raise UnusableLogoError(
            f"the logo is a PNG with {profiles:,} colour profiles, more than one; export the logo again"
        )


def _plain(picture: Image.Image) -> Image.Image:
    """RGB or, if any of it is not opaque, RGBA."""
    if picture.mode.startswith("I;16"):
        # The upper eight bits; a plain conversion would cut off whatever is brighter than they can say.
        picture = picture.point(lambda value: value / 256).convert("L")
    picture = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
    if is_opaque(picture) or picture.getchannel("A").getextrema() != (255, 255):
        return picture
    return picture.convert("RGB")


def _trimmed(picture: Image.Image) -> Image.Image:
    if is_opaque(picture):
        return picture
    box = picture.getchannel("A").point(lambda alpha: 255 * (alpha >= _VISIBLE)).getbbox()
    if box is None:
        raise UnusableLogoError("the logo is transparent all over: there is nothing to be seen; send another")
    return picture.crop(box)


def _is_svg(file: bytes) -> bool:
    begin = file[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return begin.startswith((b"<svg", b"<?xml", b"<!doctype svg"))


def _shown(picture: Image.Image) -> str:
    return f"{picture.width:,} × {picture.height:,}"  # noqa: RUF001 - as sizes are written


def _too_large(picture: Image.Image | None = None) -> UnusableLogoError:
    size = f"{_shown(picture)} pixels, " if picture else ""
    return UnusableLogoError(f"the logo has {size}more than {MAX_PIXELS:,} in all; send a smaller one")


def _broken() -> UnusableLogoError:
    return UnusableLogoError("the file is broken: it cannot be decoded to its end; export the logo again")
