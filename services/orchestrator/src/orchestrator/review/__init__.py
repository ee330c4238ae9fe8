"""What a person decides about articles: versions, drafts that wait, and what becomes of them."""

from orchestrator.review.agent import agent_of, waits_of
from orchestrator.review.appointments import Dated
from orchestrator.review.appointments import between as dated_between
from orchestrator.review.overdue import Returns
from orchestrator.review.routes import LARGER_TEXTS, answer_refusals, review_routes
from orchestrator.review.scheduling import Appointments
from orchestrator.review.store import count_drafts

__all__ = [
    "LARGER_TEXTS",
    "Appointments",
    "Dated",
    "Returns",
    "agent_of",
    "answer_refusals",
    "count_drafts",
    "dated_between",
    "review_routes",
    "waits_of",
]
