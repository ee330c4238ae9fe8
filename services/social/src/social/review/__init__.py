"""Posts that a person sees before they go out: what waits, and what becomes of it."""

from social.review.deciding import Appointments, refused
from social.review.domain import Pending
from social.review.routes import answer_refusals, review_routes
from social.review.store import Held, count_pending, hold

__all__ = [
    "Appointments",
    "Held",
    "Pending",
    "answer_refusals",
    "count_pending",
    "hold",
    "refused",
    "review_routes",
]
