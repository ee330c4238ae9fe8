"""The result of reading: a document with its passages and facts. Pure."""

from dataclasses import dataclass
from datetime import date

from documents.sections import IndexTerm, Section, TocLink


@dataclass(frozen=True, slots=True)
class DocumentPassage:
    r"""Plain text under one heading: paragraphs, lists, listings and tables, separated by a blank line.

    A paragraph is one line without a tab. Each line of a structure starts with a marker and a tab:
    "•\tan item", "1.\ta numbered item", "\ta line of code", "|\ta cell\tthe next cell" (the first row is the head).
    """

    heading: str | None
    text: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractedDocument:
    """The text and facts of one file or web page. `quality` runs from 0 (lists of links) to 1 (prose)."""

    title: str
    passages: tuple[DocumentPassage, ...]
    url: str | None = None
    licence: str | None = None
    published_on: date | None = None
    """Day of the last change, else of publication, as the text states it; never the date of the file."""
    quality: float = 1.0
    author: str | None = None
    robots: str = ""
    """The directives of its robots meta tags."""
    own: bool = False
    """True for the brand's own text, as the brand declares; documents cannot claim it."""
    sections: Section | None = None
    """The page as a tree; its root has level 0 and the page's title."""
    toc: tuple[TocLink, ...] = ()
    """The tables of contents of the page, in order."""
    index_terms: tuple[IndexTerm, ...] = ()
    """The entries of the page, if it is an index."""
