"""Records of deleted articles and erased brands, which identify late messages."""

from orchestrator.removal.deleted import (
    DeletedArticle,
    DeletedArticleError,
    deleted_among,
    find_deleted,
    insert_deleted,
)
from orchestrator.removal.erased import BrandErasingError, MessageSubject, check_not_erasing, find_late

__all__ = [
    "BrandErasingError",
    "DeletedArticle",
    "DeletedArticleError",
    "MessageSubject",
    "check_not_erasing",
    "deleted_among",
    "find_deleted",
    "find_late",
    "insert_deleted",
]
