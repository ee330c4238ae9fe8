"""How posts on other platforms are received, where a brand wants to know and the platform tells it for nothing."""

from social.reach.looking import PostMetricsPoller
from social.reach.routes import post_metrics_routes

__all__ = ["PostMetricsPoller", "post_metrics_routes"]
