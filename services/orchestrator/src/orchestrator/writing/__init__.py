"""Articles: from research to a stored text, and where they can be read."""

from orchestrator.writing.article import Article, Passage, Source
from orchestrator.writing.desk import Desk, WriterAt
from orchestrator.writing.domain import ContentId
from orchestrator.writing.handlers import ContentWorkflow
from orchestrator.writing.models import MeasureView, SourceView
from orchestrator.writing.research import ResearchClient
from orchestrator.writing.routes import content_routes
from orchestrator.writing.store import article_contexts, delete_old_steps, find_content, mark_published
from orchestrator.writing.versions import Version, VersionNote, find_version, versions_of
from orchestrator.writing.writer import (
    InsufficientSourcesError,
    NoArticleError,
    UnsupportedDraftError,
    Writer,
)

__all__ = [
    "Article",
    "ContentId",
    "ContentWorkflow",
    "Desk",
    "InsufficientSourcesError",
    "MeasureView",
    "NoArticleError",
    "Passage",
    "ResearchClient",
    "Source",
    "SourceView",
    "UnsupportedDraftError",
    "Version",
    "VersionNote",
    "Writer",
    "WriterAt",
    "article_contexts",
    "content_routes",
    "delete_old_steps",
    "find_content",
    "find_version",
    "mark_published",
    "versions_of",
]
