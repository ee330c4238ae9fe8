"""Candidate passages for a keyword, and the sources made of the best ones. Pure: no I/O, no clock, no randomness."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from documents.sections import Section
from documents.source_minimum import MIN_SHOWN_WORDS
from reading.document import DocumentPassage
from reading.ranking.aboutness import MIN_ABOUT

_SPACES = re.compile(r"\s+")
DASHES = re.compile("[-/\u2010-\u2015\u2212]+")


@dataclass(frozen=True, slots=True)
class RankedPassage:
    heading: str | None
    text: str
    score: float
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResearchSource:
    """A document that answers the keyword, with its best passages in reading order."""

    title: str
    url: str | None
    path: str | None
    licence: str | None
    passages: tuple[RankedPassage, ...]
    published_on: date | None = None
    author: str | None = None
    quotable: bool = True
    """Whether articles may print whole paragraphs: files of the corpus, the brand's own texts, free licences."""
    work: str | None = None
    """The handbook, site or book that it is part of, as the operator states it."""
    section: Section | None = None
    """The section about the keyword, with those below it; None if the source has passages alone."""
    about: float = 0.0
    """How much the title of the section is the keyword (0..1), by `reading.ranking.aboutness`."""
    titles_above: tuple[str, ...] = ()
    """The titles above the section, the page's first; empty for a page."""

    @property
    def suffices(self) -> bool:
        """Whether an article can be made of this page alone: it is about the keyword, quotable and long enough."""
        return (
            self.section is not None
            and self.quotable
            and self.about >= MIN_ABOUT
            and self.section.words >= MIN_SHOWN_WORDS
        )


@dataclass(frozen=True, slots=True)
class NearestSection:
    """The section with the title most like a keyword; a refusal names it."""

    title: str
    place: str
    """Path or address of its page."""
    words: int
    about: float
    """See `ResearchSource`."""
    quotable: bool


@dataclass(frozen=True, slots=True)
class ResearchResult:
    """Sources for a keyword. `is_preliminary`: unread documents may hold better ones, so the cache does not keep it."""

    sources: tuple[ResearchSource, ...]
    is_preliminary: bool = False
    left_out: str = ""
    """The searches that were skipped, and why; empty if none was."""


@dataclass(frozen=True, slots=True)
class InsufficientSources:
    """A normal outcome: there are too few sources for an honest article. `detail` explains it to the requester."""

    detail: str
    reason: str = "insufficient_sources"


Findings = ResearchResult | InsufficientSources


@dataclass(frozen=True, slots=True)
class CandidatePassage:
    """A passage that shares a word with the keyword. The mappings hold the positions of the keyword's lexemes."""

    document_id: int
    document_title: str
    path: str | None
    """Relative to the corpus folder; None for a web page."""
    url: str | None
    licence: str | None
    quality: float
    passages_in_document: int
    position: int
    passage: DocumentPassage
    published_on: date | None = None
    body_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    heading_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    title_hits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    author: str | None = None
    host: str | None = None
    """See `WebPage`; None for a file."""
    quotable: bool = True
    """See `ResearchSource`."""
    own: bool = False
    """See `ExtractedDocument`."""
    corpus: str = ""
    """The corpus name in the index; empty for a web page."""


def normalise_keyword(keyword: str) -> str:
    """Return the cache form of a keyword: `Write-Ahead  Logging` and `write ahead logging` are one."""
    return _SPACES.sub(" ", DASHES.sub(" ", keyword)).strip().casefold()
