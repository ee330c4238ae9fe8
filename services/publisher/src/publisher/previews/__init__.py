"""Previews of drafts on their site, under secret links that expire.

Entry points: `preview_routes` creates links, `PreviewPages` shows the drafts.
"""

from publisher.previews.pages import DraftReader, PreviewPages
from publisher.previews.routes import MADE_ONCE, preview_routes

__all__ = ["MADE_ONCE", "DraftReader", "PreviewPages", "preview_routes"]
