"""Which files are documents, and what is said of one that is none."""

from typing import Final

HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml"})
MARKDOWN_SUFFIXES: Final = frozenset({".md", ".markdown"})
TEXT_SUFFIXES: Final = frozenset({".txt"})
SUFFIXES: Final = HTML_SUFFIXES | MARKDOWN_SUFFIXES | TEXT_SUFFIXES


class UnreadableFileError(ValueError):
    """The file cannot be used; the message says why in words for the operator."""
