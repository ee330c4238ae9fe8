"""An article as mail programs show it: one column, styles at each element, nothing to run.

Entered here: `newsletter_routes` is the API.
"""

from publisher.newsletters.routes import newsletter_routes

__all__ = ["newsletter_routes"]
