"""What is left of what was removed for good: bare facts, by which whatever comes late about it is known."""

from orchestrator.removal.deleted import (
    DeletedArticle,
    DeletedArticleError,
    find_deleted,
    insert_deleted,
    is_deleted,
)

__all__ = ["DeletedArticle", "DeletedArticleError", "find_deleted", "insert_deleted", "is_deleted"]
