"""Writes articles from research, stores them and serves them over the API."""

from orchestrator.writing.approval import (
    HELD_UP_BY_DRAFTS,
    HELD_UP_SINCE,
    RETURNED_DRAFTS,
    UNREVIEWED_DRAFTS,
    UNREVIEWED_SINCE,
    WAITS,
)
from orchestrator.writing.article import Article, ArticleSource, SourcePassage
from orchestrator.writing.body import cited_in, prose_of
from orchestrator.writing.context import StatelessWriter, WriterFactory, WritingContext
from orchestrator.writing.domain import ContentId
from orchestrator.writing.durable import delete_old_workflows, release_holds
from orchestrator.writing.handlers import ContentWorkflow
from orchestrator.writing.judging import measure_edited
from orchestrator.writing.models import MeasureView, SourceView
from orchestrator.writing.quality import NEAR_DUPLICATE, Fingerprint, estimate, fingerprint
from orchestrator.writing.research import ResearchClient
from orchestrator.writing.routes import content_routes
from orchestrator.writing.store import (
    article_contexts,
    find_content,
    lock_storing,
    mark_published,
    stored_outcomes,
)
from orchestrator.writing.versions import (
    ArticleText,
    Version,
    VersionNote,
    find_free_address,
    find_version,
    insert_version,
    put_in_review,
    record_former_address,
    set_current_version,
    versions_of,
)
from orchestrator.writing.writer import (
    InsufficientSourcesError,
    NoArticleError,
    UnsupportedDraftError,
    Writer,
)

__all__ = [
    "HELD_UP_BY_DRAFTS",
    "HELD_UP_SINCE",
    "NEAR_DUPLICATE",
    "RETURNED_DRAFTS",
    "UNREVIEWED_DRAFTS",
    "UNREVIEWED_SINCE",
    "WAITS",
    "Article",
    "ArticleSource",
    "ArticleText",
    "ContentId",
    "ContentWorkflow",
    "Fingerprint",
    "InsufficientSourcesError",
    "MeasureView",
    "NoArticleError",
    "ResearchClient",
    "SourcePassage",
    "SourceView",
    "StatelessWriter",
    "UnsupportedDraftError",
    "Version",
    "VersionNote",
    "Writer",
    "WriterFactory",
    "WritingContext",
    "article_contexts",
    "cited_in",
    "content_routes",
    "delete_old_workflows",
    "estimate",
    "find_content",
    "find_free_address",
    "find_version",
    "fingerprint",
    "insert_version",
    "lock_storing",
    "mark_published",
    "measure_edited",
    "prose_of",
    "put_in_review",
    "record_former_address",
    "release_holds",
    "set_current_version",
    "stored_outcomes",
    "versions_of",
]
