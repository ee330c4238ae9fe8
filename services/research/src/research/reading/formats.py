"""Which files are documents, and what is said of one that is none."""

from typing import Final

HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml"})
MARKDOWN_SUFFIXES: Final = frozenset({".md", ".markdown"})
RESTRUCTURED_SUFFIXES: Final = frozenset({".rst", ".rest"})
ASCIIDOC_SUFFIXES: Final = frozenset({".adoc", ".asciidoc"})
TEXT_SUFFIXES: Final = frozenset({".txt"})
"""Plain, or in one of the two markups above: the text tells."""
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
"""Most of a PDF is fonts and pictures, which are not read."""


def is_pdf(path: str) -> bool:
    return path.lower().endswith(tuple(PDF_SUFFIXES))


def max_bytes(path: str) -> int:
    """How large a document may be; its name tells the format."""
    return MAX_PDF_BYTES if is_pdf(path) else MAX_BYTES


class UnreadableFileError(ValueError):
    """The file cannot be used; the message says why in words for the operator."""
