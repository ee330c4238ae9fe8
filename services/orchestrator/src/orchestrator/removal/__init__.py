"""What is left of what was removed for good: bare facts, by which whatever comes late about it is known."""

from orchestrator.removal.deleted import (
    DeletedArticle,
    DeletedArticleError,
    deleted_among,
    find_deleted,
    insert_deleted,
)
from orchestrator.removal.erased import BrandErasingError, MessageSubject, demand_not_erasing, late_among

__all__ = [
    "BrandErasingError",
    "DeletedArticle",
    "DeletedArticleError",
    "MessageSubject",
    "deleted_among",
    "demand_not_erasing",
    "find_deleted",
    "insert_deleted",
    "late_among",
]
