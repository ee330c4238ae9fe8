"""Keeps rendered pages in memory, and serves them while the database reports no change.

Entry points: `PageVersions` reads a page's version, `PageCache` holds rendered pages by version, `CachedAnswer` is one of them.
"""

from publisher.page_cache.answer import CachedAnswer
from publisher.page_cache.cache import PageCache
from publisher.page_cache.versions import PageVersions

__all__ = ["CachedAnswer", "PageCache", "PageVersions"]
