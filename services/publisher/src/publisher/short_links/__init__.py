"""Short links: redirects, and counts of clicks for each post and day, without data about visitors.

Entry points: `ShortLinks` creates links for new articles, `ShortLinkRedirector` redirects visitors, `LinkClickCounter` counts clicks,
`register` assigns a mark to a post, and `measure_routes` serves the counts.
"""

from publisher.short_links.clicks import LinkClickCounter
from publisher.short_links.creation import ShortLinks, register
from publisher.short_links.redirects import ShortLinkRedirector
from publisher.short_links.routes import measure_routes
from publisher.short_links.store import LinkedArticle

__all__ = [
    "LinkClickCounter",
    "LinkedArticle",
    "ShortLinkRedirector",
    "ShortLinks",
    "measure_routes",
    "register",
]
