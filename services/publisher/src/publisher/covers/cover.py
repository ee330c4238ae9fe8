"""The content and the formats of a cover."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self
from uuid import UUID

from chassis.http.public.rendering import accent_colour
from publisher.domain import BrandSlug

# Raise it when drawing changes: cover addresses change with it, and covers are drawn again.
_DRAWING_VERSION: Final = 1


class Format(StrEnum):
    """The format of a cover file; the value is the file name's extension."""

    LINK = "png"
    """For shared links (OpenGraph) and the top of the page: 1200 by 630 PNG."""
    PORTRAIT = "jpg"
    """For Instagram, which accepts only JPEG: 1080 by 1350."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return (1200, 630) if self is Format.LINK else (1080, 1350)

    @property
    def media_type(self) -> str:
        return "image/png" if self is Format.LINK else "image/jpeg"


@dataclass(frozen=True, slots=True)
class Cover:
    """Everything that determines a cover's pixels."""

    content_id: UUID
    title: str
    site: str
    """The name of the brand's site."""
    colour: str
    """The brand's colour: `#8a4b2a`."""
    logo: str | None = None
    """The digest of the brand's logo, if it has one."""

    @classmethod
    def of(
        cls, content_id: UUID, title: str, site: str, brand: BrandSlug, logo: str | None, accent: str | None
    ) -> Self:
        """A cover from an article's fields; `accent` is the colour in the brand's settings, or None."""
        return cls(content_id, title, site, accent or accent_colour(brand), logo)

    @property
    def digest(self) -> str:
        """Hash of the drawn content, for the address: a new title or logo gives a new digest."""
        drawn = [_DRAWING_VERSION, str(self.content_id), self.title, self.site, self.colour]
        if self.logo:
            drawn.append(self.logo)
        return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:16]

    def file(self, format_: Format) -> str:
        """The last part of the file's address: `0123456789abcdef.png`."""
        return f"{self.digest}.{format_}"

    @property
    def alternative_text(self) -> str:
        """The `alt` text for readers who do not see the picture."""
        return f"Cover: {self.title} – {self.site}"  # noqa: RUF001 - a dash, as in the page's title
