"""Documents that brands upload: stored as files, indexed in a corpus of their brand, removed together with their index."""

from research.uploads.indexing import BRANDS_AT_A_TIME, UploadIndexer
from research.uploads.routes import FILES, upload_routes
from research.uploads.store import count_by_state, count_unread, remove_all

__all__ = [
    "BRANDS_AT_A_TIME",
    "FILES",
    "UploadIndexer",
    "count_by_state",
    "count_unread",
    "remove_all",
    "upload_routes",
]
