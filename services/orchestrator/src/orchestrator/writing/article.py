"""What goes into an article and what comes out of it."""

from dataclasses import dataclass

MAX_META_DESCRIPTION = 155


@dataclass(frozen=True, slots=True)
class Passage:
    """Plain text under one heading: paragraphs separated by a blank line. `flags` name what a reviewer should see."""

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


@dataclass(frozen=True, slots=True)
class Article:
    """`body_markdown` has `## ` sections but no title and no list of sources; each sentence ends in ` [n]`.

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
