"""Turns sources into articles: sources in, article out, each statement with its source. No database, no HTTP, no messages."""

from writing.article import Article, ArticleSource, BrandWishes, SourcePassage
from writing.context import StatelessWriter, WriterFactory, WritingContext
from writing.writer import (
    InsufficientSourcesError,
    NoArticleError,
    UnsupportedDraftError,
    UnusableModelAnswerError,
    Writer,
)

__all__ = [
    "Article",
    "ArticleSource",
    "BrandWishes",
    "InsufficientSourcesError",
    "NoArticleError",
    "SourcePassage",
    "StatelessWriter",
    "UnsupportedDraftError",
    "UnusableModelAnswerError",
    "Writer",
    "WriterFactory",
    "WritingContext",
]
