"""The logo of each brand: taken in as a picture, drawn anew, shown on covers and sites.

Entered here: `logo_routes` is the API, `logo` and `body` are what pages and covers take.
"""

from publisher.logos.routes import FILES, logo_routes
from publisher.logos.store import body, logo

__all__ = ["FILES", "body", "logo", "logo_routes"]
