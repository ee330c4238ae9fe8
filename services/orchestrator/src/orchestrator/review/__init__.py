"""What a person decides about articles: versions, drafts that wait, and what becomes of them."""

from orchestrator.review.routes import review_routes

__all__ = ["review_routes"]
