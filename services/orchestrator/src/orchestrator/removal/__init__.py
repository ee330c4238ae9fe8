"""What is left of what was removed for good: bare facts, by which whatever comes late about it is known."""

from orchestrator.removal.deleted import (
    DeletedArticle,
    DeletedArticleError,
    find_deleted,
    insert_deleted,
    is_deleted,
)
from orchestrator.removal.erased import BrandErasingError, comes_too_late, demand_not_erasing

__all__ = [
    "BrandErasingError",
    "DeletedArticle",
    "DeletedArticleError",
    "comes_too_late",
    "demand_not_erasing",
    "find_deleted",
    "insert_deleted",
    "is_deleted",
]
