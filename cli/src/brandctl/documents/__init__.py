"""Documents that research reads: files of its folder, and what brands upload."""

from brandctl.documents.commands import app

__all__ = ["app"]
