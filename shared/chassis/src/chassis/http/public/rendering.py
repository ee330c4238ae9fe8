"""Templates of public pages: a service's own, and under `public/` those that it extends; takes `chassis[pages]`."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from chassis.http.public import Assets, PublicUrls

ACCENT_COLOURS: Final = ("#8a4b2a", "#1f6154", "#31558f", "#7a3b69", "#5d6320", "#8c3a3a")
"""Colours to tell one site from another by, as the stylesheet has them in light surroundings."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where a site's pages begin, for those who are lost among them."""

    name: str
    address: str


def templates(package: str, urls: PublicUrls, assets: Assets) -> Environment:
    """Templates of the package's folder `templates`, with `urls`, `style_url`, and the filters `accent` and `iso`."""
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader(package, "templates"),
                PrefixLoader({"public": PackageLoader("chassis.http.public", "templates")}),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    style = f"{urls.asset(assets.stylesheet)}?v={assets.version(assets.stylesheet)}"
    environment.globals.update(urls=urls, style_url=style)
    environment.filters.update(accent=accent, iso=iso)
    return environment


def accent(slug: str) -> int:
    """The number of a site's colour in ACCENT_COLOURS: stable, and different for most neighbours."""
    return hashlib.sha256(slug.encode()).digest()[0] % len(ACCENT_COLOURS)


def accent_colour(slug: str) -> str:
    """A site's colour, `#8a4b2a`."""
    return ACCENT_COLOURS[accent(slug)]


def iso(moment: datetime) -> str:
    """In UTC, to the second: `2026-07-01T12:00:00Z`."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
