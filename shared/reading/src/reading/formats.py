"""The file formats that can be read, and their maximum sizes."""

from typing import Final

HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml"})
MARKDOWN_SUFFIXES: Final = frozenset({".md", ".markdown"})
RESTRUCTURED_SUFFIXES: Final = frozenset({".rst", ".rest"})
ASCIIDOC_SUFFIXES: Final = frozenset({".adoc", ".asciidoc"})
TEXT_SUFFIXES: Final = frozenset({".txt"})
"""Plain, or in one of the two markups above, by the text's own signs."""
PDF_SUFFIXES: Final = frozenset({".pdf"})
SUFFIXES: Final = (
    HTML_SUFFIXES
    | MARKDOWN_SUFFIXES
    | RESTRUCTURED_SUFFIXES
    | ASCIIDOC_SUFFIXES
    | TEXT_SUFFIXES
    | PDF_SUFFIXES
)

MAX_BYTES: Final = 5_000_000
MAX_PDF_BYTES: Final = 10_000_000
"""Larger than `MAX_BYTES`, as most of a PDF is fonts and pictures, which reading skips."""


def is_pdf(path: str) -> bool:
    return path.lower().endswith(tuple(PDF_SUFFIXES))


def max_bytes(path: str) -> int:
    """Return the maximum size of a document in bytes, by the suffix of its name."""
    return MAX_PDF_BYTES if is_pdf(path) else MAX_BYTES


class UnreadableFileError(ValueError):
    """The file is unusable; the message tells the operator why."""
