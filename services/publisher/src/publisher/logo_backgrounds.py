"""Whether a logo is seen on a colour, and what to put behind it where it is not."""

from collections import Counter
from typing import Final

from PIL import Image

from publisher.colours import BLACK, RGB, WHITE, contrast, mixed
from publisher.domain import LogoBackground

_SAMPLED: Final = (128, 128)
CLEARLY: Final = 3.0
"""Contrast at which a shape is told from its ground at a glance (WCAG 2.2, 1.4.11)."""
_WELL_ENOUGH: Final = 2.0
"""What is asked of pages and plates, beside which there is nothing better."""
SEEN: Final = 0.75
"""The share of a logo that has to be seen: what is the colour of the ground may be a hole in it."""
COLOURS: Final = {LogoBackground.LIGHT: WHITE, LogoBackground.DARK: BLACK}
_PAGES: Final[tuple[RGB, ...]] = ((0xFC, 0xFB, 0xF8), (0x17, 0x18, 0x1A))
"""By day and by night, as the stylesheet has them."""


def is_opaque(logo: Image.Image) -> bool:
    """Whether it brings its own ground."""
    return "A" not in logo.getbands()


def visible_share(logo: Image.Image, ground: RGB, *, least: float = _WELL_ENOUGH) -> float:
    """How much of the logo is told from the ground, 0 to 1; where it is translucent, as the ground shows through.

    `least` is the contrast that is asked for.
    """
    small = logo.convert("RGBA")
    # Single pixels: between strokes and gaps, means would be neither.
    small.thumbnail(_SAMPLED, Image.Resampling.NEAREST)
    inked = seen = 0
    for (red, green, blue, alpha), count in Counter(zip(*[iter(small.tobytes())] * 4, strict=True)).items():
        inked += count * alpha
        if contrast(mixed(ground, (red, green, blue), alpha / 255), ground) >= least:
            seen += count * alpha
    return seen / inked if inked else 0.0


def best_background(logo: Image.Image) -> LogoBackground:
    """The light one if the logo is seen there well enough, else the one where it is seen better."""
    seen = {plate: visible_share(logo, COLOURS[plate]) for plate in LogoBackground}
    return (
        LogoBackground.LIGHT
        if seen[LogoBackground.LIGHT] >= SEEN
        else max(LogoBackground, key=lambda plate: seen[plate])
    )


def background_on_pages(logo: Image.Image) -> LogoBackground | None:
    """The plate that it needs by day or by night; None if it is seen at both, or brings its own ground."""
    if is_opaque(logo) or all(visible_share(logo, page) >= SEEN for page in _PAGES):
        return None
    return best_background(logo)
