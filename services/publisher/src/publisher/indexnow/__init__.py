"""Search engines that are told when an address changes: IndexNow, https://www.indexnow.org, for brands that want it.

Entered here: `IndexNow` tells them, `key_of` is what the site shows them.
"""

from publisher.indexnow.routes import indexnow_routes
from publisher.indexnow.store import key_of
from publisher.indexnow.telling import IndexNow

__all__ = ["IndexNow", "indexnow_routes", "key_of"]
