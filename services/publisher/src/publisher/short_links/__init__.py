"""Short links: where they lead, and how often each is followed. A number for each post and day, and nothing of who followed it.

Entered here: `ShortLinks` makes them as articles are announced, `Follow` leads visitors, `Clicks` counts them, `register` says which post a
mark is, and `measure_routes` tells.
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
