"""Templates of public pages: a service's own, and under `public/` those that it extends; takes `chassis[pages]`."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from chassis.http.public.addresses import PublicUrls
from chassis.http.public.assets import Assets

ACCENTS: Final = 6
"""Colours to tell one from another by; as many as the stylesheet defines."""


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
    """The number of a site's colour, 0 to ACCENTS - 1: stable, and different for most neighbours."""
    return hashlib.sha256(slug.encode()).digest()[0] % ACCENTS


def iso(moment: datetime) -> str:
    """In UTC, to the second: `2026-07-01T12:00:00Z`."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
