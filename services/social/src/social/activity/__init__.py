"""Post activity: for each brand and channel, recent outcomes and waiting posts."""

from social.activity.routes import activity_routes

__all__ = ["activity_routes"]
