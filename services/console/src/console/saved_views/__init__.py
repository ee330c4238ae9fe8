"""Filters of lists that a person keeps under a name."""

from console.saved_views.store import SavedViews, saved_views

__all__ = ["SavedViews", "saved_views"]
