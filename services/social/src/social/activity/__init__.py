"""How posts of brands fare, in one answer for all of them: what came of late on each channel, and what waits."""

from social.activity.routes import activity_routes

__all__ = ["activity_routes"]
