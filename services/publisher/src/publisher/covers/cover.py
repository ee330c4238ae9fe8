"""What a cover shows, and in which formats."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self
from uuid import UUID

from chassis.http.public.rendering import accent_colour
from publisher.domain import BrandSlug

# Raised when the same cover is drawn in another way: addresses change with it, and pictures are drawn anew.
_DRAWING_VERSION: Final = 1


class Format(StrEnum):
    """By the ending of the file's name."""

    LINK = "png"
    """For links that are shared (OpenGraph): 1200 by 630 PNG, also at the top of the page."""
    PORTRAIT = "jpg"
    """For Instagram, which takes JPEG alone: 1080 by 1350."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return (1200, 630) if self is Format.LINK else (1080, 1350)

    @property
    def media_type(self) -> str:
        return "image/png" if self is Format.LINK else "image/jpeg"


@dataclass(frozen=True, slots=True)
class Cover:
    """All that decides what the picture looks like."""

    content_id: UUID
    title: str
    site: str
    """The name of the brand's site."""
    colour: str
    """The brand's: `#8a4b2a`."""
    logo: str | None = None
    """The digest of the brand's logo, if it has one."""

    @classmethod
    def of(
        cls, content_id: UUID, title: str, site: str, brand: BrandSlug, logo: str | None, accent: str | None
    ) -> Self:
        """`accent` is the colour that the brand has set, if it has."""
        return cls(content_id, title, site, accent or accent_colour(brand), logo)

    @property
    def digest(self) -> str:
        """Of what is drawn, for the address: another title, or another logo, is another picture."""
        drawn = [_DRAWING_VERSION, str(self.content_id), self.title, self.site, self.colour]
        if self.logo:
            drawn.append(self.logo)
        return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:16]

    def file(self, format_: Format) -> str:
        """The end of its address: `0123456789abcdef.png`."""
        return f"{self.digest}.{format_}"

    @property
    def alternative_text(self) -> str:
        """For those who do not see it."""
        return f"Cover: {self.title} – {self.site}"  # noqa: RUF001 - a dash, as in the page's title
