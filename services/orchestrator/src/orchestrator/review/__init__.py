"""Review of articles: versions, drafts that wait, and decisions."""

from orchestrator.review.agent import agent_of, waits_of
from orchestrator.review.deciding import decide_in, get_draft, prepare_version
from orchestrator.review.models import ApproveDraftBody
from orchestrator.review.routes import LARGER_TEXTS, review_routes
from orchestrator.review.scheduled_publications import ScheduledArticle
from orchestrator.review.scheduled_publications import between as dated_between
from orchestrator.review.scheduled_publications import until_next as until_next_publication
from orchestrator.review.scheduling import PublicationScheduler
from orchestrator.review.stalled_rewrites import StalledRewriteReaper
from orchestrator.review.store import count_drafts

__all__ = [
    "LARGER_TEXTS",
    "ApproveDraftBody",
    "PublicationScheduler",
    "ScheduledArticle",
    "StalledRewriteReaper",
    "agent_of",
    "count_drafts",
    "dated_between",
    "decide_in",
    "get_draft",
    "prepare_version",
    "review_routes",
    "until_next_publication",
    "waits_of",
]
