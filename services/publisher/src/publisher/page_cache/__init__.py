"""Pages that were made before, kept in memory for the next who asks: each is sent again while the database says that nothing it shows has changed.

Entered here: `Standings` knows in what state a page is, `Kept` has what was made of that state, `Answer` is what is sent.
"""

from publisher.page_cache.answer import CachedAnswer
from publisher.page_cache.cache import PageCache
from publisher.page_cache.versions import PageVersions

__all__ = ["CachedAnswer", "PageCache", "PageVersions"]
