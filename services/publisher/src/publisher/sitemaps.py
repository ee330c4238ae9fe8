"""How a site map is divided: up to `ENTRIES` articles it is one file, else a list of parts (sitemaps.org)."""

from typing import Final

ENTRIES: Final = 1_000
"""Articles of a part. The protocol allows 50,000; a part of that size would keep visitors waiting while it is made."""


def parts_of(articles: int) -> int:
    """The number of parts of a site with so many articles; 1: the site map is one file."""
    return max(1, -(-articles // ENTRIES))
