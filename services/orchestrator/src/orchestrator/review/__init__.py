"""What a person decides about articles: versions, drafts that wait, and what becomes of them."""

from orchestrator.review.agent import agent_of, waits_of
from orchestrator.review.overdue import Returns
from orchestrator.review.routes import LARGER_TEXTS, answer_refusals, review_routes
from orchestrator.review.scheduling import Appointments
from orchestrator.review.store import count_drafts

__all__ = [
    "LARGER_TEXTS",
    "Appointments",
    "Returns",
    "agent_of",
    "answer_refusals",
    "count_drafts",
    "review_routes",
    "waits_of",
]
