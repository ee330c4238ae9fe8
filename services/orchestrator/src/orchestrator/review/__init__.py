"""What a person decides about articles: versions, drafts that wait, and what becomes of them."""

from orchestrator.review.routes import LARGER_TEXTS, answer_refusals, review_routes

__all__ = ["LARGER_TEXTS", "answer_refusals", "review_routes"]
