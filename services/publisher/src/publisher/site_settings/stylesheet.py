"""The stylesheet of one site: its differences from the shared one."""

import hashlib
from dataclasses import dataclass
from typing import Final

from publisher.colours import BLACK, RGB, WHITE, contrast, mixed, parse
from publisher.domain import SiteSettings, Typefaces

_BY_DAY: Final[RGB] = (0xF3, 0xF0, 0xE9)
_BY_NIGHT: Final[RGB] = (0x20, 0x22, 0x25)
"""Background of tags and notes on dark pages, as in the stylesheet: text that is readable there is readable on the page."""
_READABLE: Final = 4.5
"""Least contrast of text (WCAG 2.2, 1.4.3)."""
_TYPEFACES: Final = {
    Typefaces.SERIF: "",
    Typefaces.SANS: "body.look { --serif: var(--sans); }\n",
    Typefaces.MIXED: "body.look :is(h1, h2, h3, h4, h5, h6) { font-family: var(--sans); }\n",
}


@dataclass(frozen=True, slots=True)
class Stylesheet:
    css: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.css.encode()).hexdigest()[:16]


def own_stylesheet(settings: SiteSettings) -> Stylesheet | None:
    """The site's own stylesheet; None if its settings change nothing."""
    css = _TYPEFACES[settings.typefaces]
    if settings.accent:
        by_day, by_night = readable_by_day(settings.accent), _readable(settings.accent, _BY_NIGHT, WHITE)
        # Printed links are black, as on all sites.
        css += (
            f"@media screen {{ body.look {{ --accent: {by_day}; }} }}\n"
            f"@media screen and (prefers-color-scheme: dark) {{ body.look {{ --accent: {by_night}; }} }}\n"
        )
    return Stylesheet(css) if css else None


def readable_by_day(accent: str) -> str:
    """The colour, darkened until it is readable on white."""
    return _readable(accent, _BY_DAY, BLACK)


def _readable(accent: str, ground: RGB, towards: RGB) -> str:
    """The colour, or the nearest shade towards black or white that is readable on the ground."""
    colour = parse(accent)
    ways = (mixed(colour, towards, percent / 100) for percent in range(101))
    return "#" + bytes(next(way for way in ways if contrast(way, ground) >= _READABLE)).hex()
