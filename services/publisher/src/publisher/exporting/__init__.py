"""A whole site as files that link to each other: to be opened from a folder, or put on any host of static files.

Entered here: `export_routes` is the API.
"""

from publisher.exporting.routes import export_routes

__all__ = ["export_routes"]
