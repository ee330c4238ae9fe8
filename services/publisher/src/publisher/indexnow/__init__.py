"""Search engines that are told when an address changes: IndexNow, https://www.indexnow.org, for brands that want it.

Entered here: `IndexNow` tells them, `key_of` is what the site shows them.
"""

from publisher.indexnow.notifier import IndexNowNotifier
from publisher.indexnow.routes import indexnow_routes
from publisher.indexnow.store import key_of

__all__ = ["IndexNowNotifier", "indexnow_routes", "key_of"]
