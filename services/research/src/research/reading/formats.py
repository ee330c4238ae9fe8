"""Which files are documents, and what is said of one that is none."""

from typing import Final

HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml"})
MARKDOWN_SUFFIXES: Final = frozenset({".md", ".markdown"})
RESTRUCTURED_SUFFIXES: Final = frozenset({".rst", ".rest"})
ASCIIDOC_SUFFIXES: Final = frozenset({".adoc", ".asciidoc"})
TEXT_SUFFIXES: Final = frozenset({".txt"})
"""Plain, or in one of the two markups above: the text tells."""
SUFFIXES: Final = (
    HTML_SUFFIXES | MARKDOWN_SUFFIXES | RESTRUCTURED_SUFFIXES | ASCIIDOC_SUFFIXES | TEXT_SUFFIXES
)


class UnreadableFileError(ValueError):
    """The file cannot be used; the message says why in words for the operator."""
