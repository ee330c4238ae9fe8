"""Renders an article for mail programs: one column, inline styles, no scripts.

Entry point: `newsletter_routes`, the API.
"""

from publisher.newsletters.routes import newsletter_routes

__all__ = ["newsletter_routes"]
