"""Review of posts: approve, edit, reject, schedule and retry."""

from social.review.decisions import ScheduledPostPublisher, refusal_for
from social.review.domain import PendingPost
from social.review.routes import COUNT, count_routes, review_routes
from social.review.store import HeldPost, count_pending, hold
from social.review.store import until_next as until_next_publication

__all__ = [
    "COUNT",
    "HeldPost",
    "PendingPost",
    "ScheduledPostPublisher",
    "count_pending",
    "count_routes",
    "hold",
    "refusal_for",
    "review_routes",
    "until_next_publication",
]
