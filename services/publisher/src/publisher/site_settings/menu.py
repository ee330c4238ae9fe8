"""The menu of a site: where its entries may lead, and their addresses on a page."""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from publisher.domain import SLUG_PATTERN, MenuEntry, PageSlug, Site
from publisher.urls import SiteUrls

_SLUG: Final = SLUG_PATTERN.pattern
_OWN: Final = re.compile(
    rf"/(?:(?P<kind>tags|authors)/(?P<name>{_SLUG})|(?P<search>search/?)|(?P<slug>{_SLUG}))?"
)
_VISIBLE: Final = re.compile(r"[!-~]+")


def menu_target(value: str) -> str:
    """Returns a valid target of an entry. Raises ValueError for anything but a page of the site or an address over https."""
    if value.startswith("/"):
        if _OWN.fullmatch(value) is None:
            raise ValueError(
                f"'{value}' is no page of the site; write / for the list of articles, /cold-brew for an article,"
                " /tags/espresso for a subject, /authors/ada or /search/"
            )
        return value
    if _VISIBLE.fullmatch(value) is None or not _is_over_https(value):
        raise ValueError(f"'{value}' is no address: begin it with https://, or with / for a page of the site")
    return value


def _is_over_https(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return (
            parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
        )
    except ValueError:
        return False


def menu_links(site: Site, urls: SiteUrls) -> Iterator[tuple[str, str]]:
    """The titles and addresses of the site's own menu; a static site has no search."""
    for entry in site.settings.menu:
        if (address := _address(entry, site, urls)) is not None:
            yield entry.title, address


def _address(entry: MenuEntry, site: Site, urls: SiteUrls) -> str | None:
    brand, own = site.brand_slug, _OWN.fullmatch(entry.to)
    if own is None:
        return entry.to if entry.to.startswith("https://") else None
    if own["search"]:
        return urls.search(brand) if urls.has_search else None
    if own["slug"]:
        return urls.article(brand, PageSlug(own["slug"]))
    if own["kind"] == "tags":
        return urls.tag(brand, PageSlug(own["name"]))
    return urls.author(brand, PageSlug(own["name"])) if own["kind"] else urls.site(brand)
