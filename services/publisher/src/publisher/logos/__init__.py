"""Brand logos: validates the uploaded picture, draws it anew, serves it for covers and sites.

Entry points: `logo_routes` is the API; pages and covers use `logo` and `body`.
"""

from publisher.logos.routes import FILES, logo_routes, normalised
from publisher.logos.store import body, logo
from publisher.logos.store import save as save_logo

__all__ = ["FILES", "body", "logo", "logo_routes", "normalised", "save_logo"]
