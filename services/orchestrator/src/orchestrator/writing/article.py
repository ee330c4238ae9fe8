"""What goes into an article and what comes out of it."""

from dataclasses import dataclass
from datetime import date

MAX_TITLE = 60
MAX_META_DESCRIPTION = 155
MIN_WORDS = 250
MIN_SOURCES = 3


@dataclass(frozen=True, slots=True)
class Passage:
    r"""Plain text under one heading: paragraphs, lists, listings and tables, separated by a blank line.

    A paragraph is one line without a tab; whatever has a structure has a marker and a tab before each of its lines:
    "•\tan item", "1.\ta numbered item", "\ta line of code", "|\ta cell\tthe next cell" (the first row is the head).
    `flags` name what a reviewer should see.
    """

    heading: str | None
    text: str
    score: float
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A document to quote from. `n` (1-based) is the number its citations carry."""

    n: int
    title: str
    passages: tuple[Passage, ...]
    url: str | None = None
    path: str | None = None
    licence: str | None = None
    published_on: date | None = None
    """When it was changed last, or published, as it says itself."""
    quotable: bool = True
    """Whether whole paragraphs of it may be printed."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What became of a model's sentences."""

    sentences: int
    """That it wrote."""
    dropped: int
    copied: float
    """Of the words that are left, the part that stands in long runs of a source."""
    confirmed: int | None = None
    """Of those that are left, how many a second reader had to confirm; None if there was none."""


@dataclass(frozen=True, slots=True)
class Article:
    """`body_markdown` has `## ` sections but no title and no list of sources.

    Each paragraph and each item of a list ends in ` [n]`; a listing or table belongs to the paragraph before it.

    `cited` are the numbers that occur in the body, ascending; the other sources were offered but not used.
    """

    title: str
    slug: str
    meta_description: str
    body_markdown: str
    word_count: int
    key_points: tuple[str, ...]
    cited: tuple[int, ...]
    label: str | None = None
    """How the text came about, to be shown to readers."""
    draft: Draft | None = None
    """None if nothing was drafted, but quoted."""
