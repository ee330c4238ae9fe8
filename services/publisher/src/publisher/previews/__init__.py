"""Drafts as they would look on their site, under links that nobody guesses and that end.

Entered here: `preview_routes` makes links, `Previews` shows what they lead to.
"""

from publisher.previews.pages import DraftReader, PreviewPages
from publisher.previews.routes import MADE_ONCE, preview_routes

__all__ = ["MADE_ONCE", "DraftReader", "PreviewPages", "preview_routes"]
