"""Notifies search engines of changed addresses (IndexNow, https://www.indexnow.org), for brands that turn it on.

Entry points: `IndexNowNotifier` sends the notifications, `key_of` is the key that the site serves.
"""

from publisher.indexnow.notifier import IndexNowNotifier
from publisher.indexnow.routes import indexnow_routes
from publisher.indexnow.store import key_of

__all__ = ["IndexNowNotifier", "indexnow_routes", "key_of"]
