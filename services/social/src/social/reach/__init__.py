"""Post metrics: likes, shares and replies of posts, for brands that enable them and platforms that report them free of charge."""

from social.reach.looking import PostMetricsPoller
from social.reach.routes import post_metrics_routes

__all__ = ["PostMetricsPoller", "post_metrics_routes"]
