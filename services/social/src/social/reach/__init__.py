"""How posts on other platforms are received, where a brand wants to know and the platform tells it for nothing."""

from social.reach.looking import ReachLooks
from social.reach.routes import reach_routes

__all__ = ["ReachLooks", "reach_routes"]
