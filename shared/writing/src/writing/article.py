"""The input of a writer (sources with passages) and its output (an article)."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from documents.sections import Section

MAX_TITLE = 60
MAX_META_DESCRIPTION = 155
MIN_WORDS = 250


@dataclass(frozen=True, slots=True)
class BrandWishes:
    """A brand's wishes for its articles: its settings with the names of these fields."""

    min_sources: int
    """The least number of independent sources that an article cites."""
    forbidden_words: tuple[str, ...] = ()
    tone: str = ""
    """Free text; empty if it sets none."""
    audience: str = ""
    """The readers that it writes for, as free text; empty if it sets none."""
    words: int | None = None
    """The wanted length in words; None if it sets none."""


@dataclass(frozen=True, slots=True)
class SourcePassage:
    r"""Plain text under one heading: paragraphs, lists, listings and tables, separated by a blank line.

    A paragraph is one line without a tab. Each line of a list, listing or table starts with a marker and a tab:
    "•\tan item", "1.\ta numbered item", "\ta line of code", "|\ta cell\tthe next cell" (the first row is the head).
    `flags` name what a reviewer should see.
    """

    heading: str | None
    text: str
    score: float
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArticleSource:
    """A document that the article may quote. `n` (1-based) is the number of its citations."""

    n: int
    title: str
    passages: tuple[SourcePassage, ...]
    url: str | None = None
    path: str | None = None
    licence: str | None = None
    published_on: date | None = None
    """The date of its last change or publication, as the document itself says."""
    author: str | None = None
    quotable: bool = True
    """True if the article may print whole paragraphs of it."""
    section: Section | None = None
    """The section, or page, about the keyword, with those below it; None if the source has passages alone."""
    about: float = 0.0
    """How much the title of the section is the keyword (0..1), by `reading.ranking.aboutness`."""
    titles_above: tuple[str, ...] = ()
    """The titles above the section, the page's first; empty for a page."""
    work: str | None = None
    """The title of the book or documentation that it belongs to."""


@dataclass(frozen=True, slots=True)
class ArticleJudge:
    """A model that has read the sentences of an article."""

    name: str
    """As it was asked."""
    models: tuple[str, ...]
    """As its answers name it: usually one, or several if it was exchanged meanwhile."""


@dataclass(frozen=True, slots=True)
class ModelDraftCounts:
    """Counts of a model's sentences: written, dropped, copied, confirmed."""

    sentences: int
    """Sentences that the model wrote."""
    dropped: int
    copied: float
    """The fraction of the remaining words that are copied in long runs from a source."""
    confirmed: int | None = None
    """The number of remaining sentences that a second model had to confirm; None if there was no second model."""
    judges: tuple[ArticleJudge, ...] = ()
    """Each has read, and kept, all sentences that are counted as confirmed."""


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage as the writer saw it."""

    n: int
    """The number of its source."""
    titles: tuple[str, ...]
    """The headings over it, the page's first."""
    text: str


@dataclass(frozen=True, slots=True)
class KeptSentence:
    """A sentence of the article, with what it rests on."""

    text: str
    heading: str
    """Of its section; empty in the opening."""
    sources: tuple[int, ...]
    passages: tuple[str, ...]
    """Ids of the passages that it cites."""
    verdict: str
    """`held`: its passages have its words; `confirmed`: a second model confirmed it; `transition`: it states nothing; `kept`: it
    was cut, and an editor keeps it in their own name."""
    given_by: str
    """Who gave the verdict: `rules`, the name of a model, or the editor."""


class CutPlace(StrEnum):
    """Where a cut sentence stood."""

    BEHIND = "behind"
    """Behind the sentence before it, in one paragraph."""
    OPENS = "opens"
    """It opened the paragraph that follows the sentence before it."""
    ALONE = "alone"
    """Nothing else of its paragraph was kept."""


@dataclass(frozen=True, slots=True)
class CutSentence:
    """A sentence that a model wrote and the checks cut."""

    text: str
    heading: str
    """Of the section that it was written for; empty in the opening."""
    passages: tuple[str, ...]
    reason: str
    """The cause as a code for programs."""
    problem: str
    """The cause, for people."""
    nearest: str
    """What its passages say instead, if known."""
    after: str = ""
    """The last sentence before it that was not cut; empty if there is none."""
    place: CutPlace = CutPlace.ALONE
    kept_by: str = ""
    """The editor in whose name the article has it all the same; empty if it has not."""
    kept_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ArticleEvidence:
    """What each sentence of a model rests on, and what was cut."""

    sentences: tuple[KeptSentence, ...]
    cuts: tuple[CutSentence, ...]
    passages: dict[str, CitedPassage]
    """By id, all that kept and cut sentences cite."""


@dataclass(frozen=True, slots=True)
class Article:
    """A written article; `body_markdown` has `## ` sections but no title and no list of sources.

    Each paragraph and each list item ends in ` [n]`; a listing or table belongs to the paragraph before it.

    `cited` lists the numbers that occur in the body, ascending; the article uses none of the other sources.
    """

    title: str
    slug: str
    meta_description: str
    body_markdown: str
    word_count: int
    key_points: tuple[str, ...]
    cited: tuple[int, ...]
    section: str | None = None
    """The title of the section that is all it quotes; None if that is a page, or if there are several sources."""
    label: str | None = None
    """A note for readers that says how the text was made."""
    draft: ModelDraftCounts | None = None
    """None if the article only quotes."""
    evidence: ArticleEvidence | None = None
    """None if the article only quotes: each of its paragraphs is what its source says."""
    found: tuple[ArticleSource, ...] = ()
    """Sources that it cites beside those that its writer was given."""
