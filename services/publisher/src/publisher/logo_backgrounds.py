"""The visibility of a logo on a colour, and the background for one without enough contrast."""

from collections import Counter
from typing import Final

from PIL import Image

from publisher.colours import BLACK, RGB, WHITE, contrast, mixed
from publisher.domain import LogoBackground

_SAMPLED: Final = (128, 128)
CLEARLY: Final = 3.0
"""Contrast at which a shape stands out at a glance (WCAG 2.2, 1.4.11)."""
_WELL_ENOUGH: Final = 2.0
"""Lower contrast, acceptable where no background does better."""
SEEN: Final = 0.75
"""The least visible share of a logo: parts in the background's colour may be holes."""
COLOURS: Final = {LogoBackground.LIGHT: WHITE, LogoBackground.DARK: BLACK}
_PAGES: Final[tuple[RGB, ...]] = ((0xFC, 0xFB, 0xF8), (0x17, 0x18, 0x1A))
"""Light and dark, as in the stylesheet."""


def is_opaque(logo: Image.Image) -> bool:
    """Whether every pixel of the picture is opaque."""
    return "A" not in logo.getbands()


def visible_share(logo: Image.Image, ground: RGB, *, least: float = _WELL_ENOUGH) -> float:
    """The share of the logo with enough contrast to the ground, 0 to 1; blends translucent pixels with it.

    `least` is the required contrast.
    """
    small = logo.convert("RGBA")
    # Single pixels: an average of strokes and gaps is neither.
    small.thumbnail(_SAMPLED, Image.Resampling.NEAREST)
    inked = seen = 0
    for (red, green, blue, alpha), count in Counter(zip(*[iter(small.tobytes())] * 4, strict=True)).items():
        inked += count * alpha
        if contrast(mixed(ground, (red, green, blue), alpha / 255), ground) >= least:
            seen += count * alpha
    return seen / inked if inked else 0.0


def best_background(logo: Image.Image) -> LogoBackground:
    """The light background if enough of the logo is visible on it, else the better one."""
    seen = {plate: visible_share(logo, COLOURS[plate]) for plate in LogoBackground}
    return (
        LogoBackground.LIGHT
        if seen[LogoBackground.LIGHT] >= SEEN
        else max(LogoBackground, key=lambda plate: seen[plate])
    )


def background_on_pages(logo: Image.Image) -> LogoBackground | None:
    """The background that the logo needs on light or dark pages; None if it is opaque or visible on both."""
    if is_opaque(logo) or all(visible_share(logo, page) >= SEEN for page in _PAGES):
        return None
    return best_background(logo)
