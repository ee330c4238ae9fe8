"""What research is made of: documents, their passages, and what is found in them. Pure: no I/O, no clock, no randomness."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

CACHE_PERIOD = timedelta(days=7)
MIN_SOURCES = 3

_SPACES = re.compile(r"\s+")
DASHES = re.compile("[-/\u2010-\u2015\u2212]+")


@dataclass(frozen=True, slots=True)
class Passage:
    r"""Plain text under one heading: paragraphs, lists, listings and tables, separated by a blank line.

    A paragraph is one line without a tab; whatever has a structure has a marker and a tab before each of its lines:
    "•\tan item", "1.\ta numbered item", "\ta line of code", "|\ta cell\tthe next cell" (the first row is the head).
    """

    heading: str | None
    text: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the corpus after extraction. `quality` runs from 0 (lists of links) to 1 (prose)."""

    title: str
    passages: tuple[Passage, ...]
    url: str | None = None
    licence: str | None = None
    published_on: date | None = None
    """When it was changed last, or published, as the text itself says; never the date of the file."""
    quality: float = 1.0
    author: str | None = None
    robots: str = ""
    """What it asks of robots, as its meta tags say."""
    own: bool = False
    """Whether it is the brand's own text, as the brand says; no document says so itself."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the web, read for one keyword. `weight` is what its quality counts for: more than 1 if it is preferred.

    Of one `host` only so many become sources; None: as many as there are.
    """

    document: Document
    host: str | None
    weight: float = 1.0
    quotable: bool = False
    """As of `Source`."""


@dataclass(frozen=True, slots=True)
class RankedPassage:
    heading: str | None
    text: str
    score: float
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A document that says something about the keyword; its passages stand in the order of the document."""

    title: str
    url: str | None
    path: str | None
    licence: str | None
    passages: tuple[RankedPassage, ...]
    published_on: date | None = None
    author: str | None = None
    quotable: bool = True
    """Whether whole paragraphs of it may be printed: it was given to us, is the brand's own, or is freely licensed."""


@dataclass(frozen=True, slots=True)
class Found:
    """`is_preliminary`: there may be better ones, once all documents have been read; it is not kept for others."""

    sources: tuple[Source, ...]
    is_preliminary: bool = False
    left_out: str = ""
    """Where was not looked, and why; empty if everywhere was."""


@dataclass(frozen=True, slots=True)
class Insufficient:
    """A normal outcome: the corpus does not carry an honest article. `detail` is for the person who asked."""

    detail: str
    reason: str = "insufficient_sources"


Findings = Found | Insufficient


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that shares a word with the keyword. The mappings give the positions of the keyword's lexemes."""

    document_id: int
    document_title: str
    path: str | None
    """Below the corpus folder; None of a page of the web."""
    url: str | None
    licence: str | None
    quality: float
    passages_in_document: int
    position: int
    passage: Passage
    published_on: date | None = None
    body_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    heading_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    title_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    author: str | None = None
    host: str | None = None
    """As of `Page`; None of a file."""
    quotable: bool = True
    """As of `Source`."""
    own: bool = False
    """As of `Document`."""
    corpus: str = ""
    """As the index calls it; empty of a page."""


def normalise_keyword(keyword: str) -> str:
    """The form under which a keyword is cached: `Write-Ahead  Logging` and `write ahead logging` are one."""
    return _SPACES.sub(" ", DASHES.sub(" ", keyword)).strip().casefold()
