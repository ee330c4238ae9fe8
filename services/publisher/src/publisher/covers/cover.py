"""The content and the formats of a cover."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self
from uuid import UUID

from chassis.http.public.rendering import accent_colour
from publisher.domain import BrandSlug
from publisher.figures import Figure

# Raise it when drawing changes: cover addresses change with it, and covers are drawn again.
_DRAWING_VERSION: Final = 2


class Format(StrEnum):
    """The format of a cover file; the value is the file name's extension."""

    LINK = "png"
    """For shared links (OpenGraph) and the top of the page: 1200 by 630 PNG."""
    PORTRAIT = "jpg"
    """For Instagram, which accepts only JPEG: 1080 by 1350."""
    LIST = "webp"
    """For lists of articles: 480 by 205, without the band that is too small to be read there."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return {Format.LINK: (1200, 630), Format.PORTRAIT: (1080, 1350), Format.LIST: (480, 205)}[self]

    @property
    def media_type(self) -> str:
        return {Format.LINK: "image/png", Format.PORTRAIT: "image/jpeg", Format.LIST: "image/webp"}[self]


@dataclass(frozen=True, slots=True)
class Cover:
    """Everything that determines a cover's pixels."""

    content_id: UUID
    title: str
    """The article's; it is not drawn."""
    site: str
    """The name of the brand's site."""
    colour: str
    """The brand's colour: `#8a4b2a`."""
    logo: str | None = None
    """The digest of the brand's logo, if it has one."""
    figure: str | None = None
    """The figure to draw, as JSON; None: a pattern."""

    @classmethod
    def of(
        cls,
        content_id: UUID,
        title: str,
        site: str,
        brand: BrandSlug,
        *,
        logo: str | None,
        accent: str | None,
        figure: str | None,
    ) -> Self:
        """A cover from an article's fields; `accent` is the colour in the brand's settings, or None."""
        return cls(content_id, title, site, accent or accent_colour(brand), logo, figure)

    @property
    def digest(self) -> str:
        """Hash of the drawn content, for the address: another figure or logo gives a new digest."""
        drawn = [_DRAWING_VERSION, str(self.content_id), self.site, self.colour, self.logo, self.figure]
        return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:16]

    def file(self, format_: Format) -> str:
        """The last part of the file's address: `0123456789abcdef.png`."""
        return f"{self.digest}.{format_}"

    @property
    def alternative_text(self) -> str:
        """The `alt` text for readers who do not see the picture."""
        if self.figure is not None:
            return f"Bar chart. {Figure.of_json(self.figure).told}"
        return f"A pattern in the colours of {self.site}, for “{self.title}”"
