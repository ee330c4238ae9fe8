"""Review of articles: versions, drafts that wait, and decisions."""

from orchestrator.review.agent import agent_of, waits_of
from orchestrator.review.appointments import ScheduledArticle
from orchestrator.review.appointments import between as dated_between
from orchestrator.review.overdue import StalledRewriteReaper
from orchestrator.review.routes import LARGER_TEXTS, answer_refusals, review_routes
from orchestrator.review.scheduling import PublicationScheduler
from orchestrator.review.store import count_drafts

__all__ = [
    "LARGER_TEXTS",
    "PublicationScheduler",
    "ScheduledArticle",
    "StalledRewriteReaper",
    "agent_of",
    "answer_refusals",
    "count_drafts",
    "dated_between",
    "review_routes",
    "waits_of",
]
