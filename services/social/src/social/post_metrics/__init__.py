"""Post metrics: likes, shares and replies of posts, for brands that enable them and platforms that report them free of charge."""

from social.post_metrics.poller import PostMetricsPoller
from social.post_metrics.routes import post_metrics_routes

__all__ = ["PostMetricsPoller", "post_metrics_routes"]
