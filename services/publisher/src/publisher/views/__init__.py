"""How often pages are looked at: a number for each page and day, and nothing of who looked.

Entered here: `Views` counts what is served, `view_routes` tells.
"""

from publisher.views.counting import Views
from publisher.views.routes import view_routes

__all__ = ["Views", "view_routes"]
