"""What a person decides about articles: versions, drafts that wait, and what becomes of them."""

from orchestrator.review.agent import agent_of
from orchestrator.review.routes import LARGER_TEXTS, answer_refusals, review_routes

__all__ = ["LARGER_TEXTS", "agent_of", "answer_refusals", "review_routes"]
