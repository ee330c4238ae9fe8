"""Articles: from research to a stored text, and where they can be read."""

from orchestrator.writing.approval import (
    HELD_UP_BY_DRAFTS,
    HELD_UP_SINCE,
    RETURNED_DRAFTS,
    UNREVIEWED_DRAFTS,
    UNREVIEWED_SINCE,
    WAITS,
)
from orchestrator.writing.article import Article, Passage, Source
from orchestrator.writing.body import cited_in, prose_of
from orchestrator.writing.desk import Desk, Quick, WriterAt
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
    Text,
    Version,
    VersionNote,
    find_version,
    free_address,
    insert_version,
    leave_address,
    set_standing,
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
    "ContentId",
    "ContentWorkflow",
    "Desk",
    "Fingerprint",
    "InsufficientSourcesError",
    "MeasureView",
    "NoArticleError",
    "Passage",
    "Quick",
    "ResearchClient",
    "Source",
    "SourceView",
    "Text",
    "UnsupportedDraftError",
    "Version",
    "VersionNote",
    "Writer",
    "WriterAt",
    "article_contexts",
    "cited_in",
    "content_routes",
    "delete_old_workflows",
    "estimate",
    "find_content",
    "find_version",
    "fingerprint",
    "free_address",
    "insert_version",
    "leave_address",
    "lock_storing",
    "mark_published",
    "measure_edited",
    "prose_of",
    "release_holds",
    "set_standing",
    "stored_outcomes",
    "versions_of",
]
