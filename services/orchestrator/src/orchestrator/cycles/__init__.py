"""Cycles of keywords: how they begin, what each event changes, and their progress."""

from orchestrator.cycles.answer_confirmation import AnswerConfirmation
from orchestrator.cycles.begin import KEYWORDS_IN_ONE_TRACE, begin_cycle, begin_cycle_in
from orchestrator.cycles.commit_losses import MARGIN, note_commit_losses, note_own_loss
from orchestrator.cycles.control import cancel_writing, write_again
from orchestrator.cycles.deadlines import end_late_keywords, next_deadline
from orchestrator.cycles.dispatch import (
    DEFAULT_LIMITS,
    BrandLimits,
    dispatch_overlooked,
    dispatch_waiting,
    next_release,
)
from orchestrator.cycles.domain import (
    BRAND_ARTICLES,
    BRAND_RESEARCH,
    CycleId,
    ReusedKeyError,
    distinct_among,
    fold_duplicates,
)
from orchestrator.cycles.facts import readable
from orchestrator.cycles.handlers import route
from orchestrator.cycles.housekeeping import Housekeeping
from orchestrator.cycles.keyword_rows import KeywordRow, load_keywords
from orchestrator.cycles.models import Keyword, ResearchRequest
from orchestrator.cycles.requested import requested_cycle
from orchestrator.cycles.routes import LARGER_BODIES, cycle_routes
from orchestrator.cycles.store import BRAND_WAITS, Cycle, NewCycle, RequestedLimits, lock_brand, waiting
from orchestrator.cycles.waits import note_waits

__all__ = [
    "BRAND_ARTICLES",
    "BRAND_RESEARCH",
    "BRAND_WAITS",
    "DEFAULT_LIMITS",
    "KEYWORDS_IN_ONE_TRACE",
    "LARGER_BODIES",
    "MARGIN",
    "AnswerConfirmation",
    "BrandLimits",
    "Cycle",
    "CycleId",
    "Housekeeping",
    "Keyword",
    "KeywordRow",
    "NewCycle",
    "RequestedLimits",
    "ResearchRequest",
    "ReusedKeyError",
    "begin_cycle",
    "begin_cycle_in",
    "cancel_writing",
    "cycle_routes",
    "dispatch_overlooked",
    "dispatch_waiting",
    "distinct_among",
    "end_late_keywords",
    "fold_duplicates",
    "load_keywords",
    "lock_brand",
    "next_deadline",
    "next_release",
    "note_commit_losses",
    "note_own_loss",
    "note_waits",
    "readable",
    "requested_cycle",
    "route",
    "waiting",
    "write_again",
]
