"""Writes articles from research, stores them and serves them over the API."""

from orchestrator.article_workflow.approval import (
    HELD_UP_BY_DRAFTS,
    HELD_UP_SINCE,
    RETURNED_DRAFTS,
    UNREVIEWED_DRAFTS,
    UNREVIEWED_SINCE,
    WAITS,
)
from orchestrator.article_workflow.article_search import WORDS, brands_query, words_query
from orchestrator.article_workflow.domain import ContentId
from orchestrator.article_workflow.durable import delete_old_workflows, release_holds
from orchestrator.article_workflow.handlers import ContentWorkflow
from orchestrator.article_workflow.models import CutSentenceView, MeasureView, SourceView, cut_sentence_views
from orchestrator.article_workflow.outcomes import REASONS
from orchestrator.article_workflow.research import ResearchClient
from orchestrator.article_workflow.routes import CHECK, LARGER_TEXTS, content_routes
from orchestrator.article_workflow.siblings import measure_draft
from orchestrator.article_workflow.store import (
    article_contexts,
    find_content,
    lock_storing,
    mark_published,
    stored_outcomes,
)
from orchestrator.article_workflow.versions import (
    MAX_VERSION,
    WRITER,
    Version,
    VersionNote,
    VersionText,
    find_comparable,
    find_evidence,
    find_free_address,
    find_version,
    insert_version,
    put_in_review,
    record_former_address,
    set_current_version,
    versions_of,
)

__all__ = [
    "CHECK",
    "HELD_UP_BY_DRAFTS",
    "HELD_UP_SINCE",
    "LARGER_TEXTS",
    "MAX_VERSION",
    "REASONS",
    "RETURNED_DRAFTS",
    "UNREVIEWED_DRAFTS",
    "UNREVIEWED_SINCE",
    "WAITS",
    "WORDS",
    "WRITER",
    "ContentId",
    "ContentWorkflow",
    "CutSentenceView",
    "MeasureView",
    "ResearchClient",
    "SourceView",
    "Version",
    "VersionNote",
    "VersionText",
    "article_contexts",
    "brands_query",
    "content_routes",
    "cut_sentence_views",
    "delete_old_workflows",
    "find_comparable",
    "find_content",
    "find_evidence",
    "find_free_address",
    "find_version",
    "insert_version",
    "lock_storing",
    "mark_published",
    "measure_draft",
    "put_in_review",
    "record_former_address",
    "release_holds",
    "set_current_version",
    "stored_outcomes",
    "versions_of",
    "words_query",
]
