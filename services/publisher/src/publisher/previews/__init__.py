"""Previews of drafts on their site, under secret links that expire.

Entry points: `preview_routes` creates links, `PreviewPages` shows the drafts, `draft_page_routes` gives them to callers of the API,
`site_page_routes` the first page of a site with settings that are not saved.
"""

from publisher.previews.draft_pages import draft_page_routes
from publisher.previews.pages import DraftReader, PreviewPages
from publisher.previews.routes import MADE_ONCE, preview_routes
from publisher.previews.site_pages import site_page_routes

__all__ = [
    "MADE_ONCE",
    "DraftReader",
    "PreviewPages",
    "draft_page_routes",
    "preview_routes",
    "site_page_routes",
]
