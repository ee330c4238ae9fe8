"""Exports a whole site as linked files, for a folder or any host of static files.

Entry point: `export_routes`, the API.
"""

from publisher.site_export.routes import export_routes

__all__ = ["export_routes"]
