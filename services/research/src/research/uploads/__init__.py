"""Documents that brands upload: kept as they came, read into a corpus of the brand alone, removed with all that was read."""

from research.uploads.reading import UploadReading
from research.uploads.routes import FILES, upload_routes
from research.uploads.store import counts, remove_all, unread

__all__ = ["FILES", "UploadReading", "counts", "remove_all", "unread", "upload_routes"]
