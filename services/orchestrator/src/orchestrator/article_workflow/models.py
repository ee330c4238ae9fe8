"""API views of articles, their measures and search results."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Final, Self
from uuid import UUID

from pydantic import AfterValidator, Field

from chassis.http.api import View
from envelope.brand.article import ArticleText
from envelope.brand.texts import prose
from orchestrator.article_workflow.article_search import ArticleState, FoundArticle
from orchestrator.article_workflow.citing_articles import CitingArticle
from orchestrator.article_workflow.store import StoredContent
from orchestrator.article_workflow.versions import MAX_VERSION, MarkedVersion, VersionEvidence
from orchestrator.requests import RequestBody
from writing.article import ArticleEvidence
from writing.body import MarkdownBlockKind
from writing.quality.measures import Measure

MAX_CHECKED_TEXT: Final = 100_000
"""Characters of a text that is checked; as many as an article has at most."""
CARRIED: Final = frozenset({"quoted", "held", "confirmed", "transition"})
"""Verdicts of sentences that need no person: their passages say them, or they state nothing."""


class ContentBrand(View):
    slug: Annotated[str, Field(examples=["daily-grind"])]
    name: str
    description: str
    language: str


class SourceView(View):
    n: Annotated[int, Field(ge=1, examples=[1])]
    """The number of its citations ` [n]` in the article."""
    title: str
    url: str | None
    path: str | None
    """File name inside the corpus, for a source without an address."""
    licence: str | None
    published_on: date | None = None
    """The date of its last change or publication, as the document itself says."""
    author: str | None = None
    quoted: bool = False
    """Whether the article was composed of its words alone; a person may have edited them since."""
    section: str | None = None
    """The title of the section that is all the article quotes of it."""
    work: str | None = None
    """The title of the book or documentation that it belongs to."""


class MeasureView(View):
    name: Annotated[str, Field(examples=["words"])]
    value: Annotated[float, Field(examples=[412])]
    shown: Annotated[str, Field(examples=["412"])]
    """The value, formatted for people."""
    least: Annotated[float | None, Field(examples=[250])]
    most: float | None
    holds: bool
    """True if the value is within its bounds."""
    problem: str | None
    """The complaint; null if the value is within its bounds."""

    @classmethod
    def of(cls, measure: Measure) -> Self:
        return cls(**asdict(measure), holds=measure.problem is None)


class ScoreView(View):
    """The measures of an article from when it was written, the most important first."""

    content_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    keyword: str
    title: str
    published_url: str | None
    held_for: tuple[str, ...]
    """Why it needs a person's approval; empty if it needs none."""
    measures: tuple[MeasureView, ...]
    """Empty for an article that is older than the measures."""

    @classmethod
    def of(cls, content: StoredContent) -> Self:
        return cls(**{**dict(content), "measures": tuple(map(MeasureView.of, content.measures))})


class KeptSentenceView(View):
    text: str
    heading: str
    """Of its section; empty in the opening."""
    sources: tuple[int, ...]
    """Numbers of the sources that say it; empty for a sentence that only leads over."""
    passages: tuple[str, ...]
    """Ids of the passages that it cites; empty if it is quoted."""
    verdict: Annotated[str, Field(examples=["held"])]
    """`quoted`: it stands so in its source; `held`: its passages have its words; `confirmed`: a second model confirmed it;
    `transition`: it states nothing; `kept`: it was cut, and an editor keeps it in their own name."""
    given_by: Annotated[str, Field(examples=["rules"])]
    """Who gave the verdict: `rules`, the name of a model, or the editor."""


class CutSentenceView(View):
    number: Annotated[int, Field(ge=1, examples=[1])]
    """For `POST /v1/drafts/{content_id}/keep`; it stays the same until the article is written again."""
    text: str
    heading: str
    """Of the section that it was written for; empty for the opening."""
    after: str
    """The last sentence before it that was not cut; empty if there is none."""
    passages: tuple[str, ...]
    """Ids of the passages that it cites."""
    sources: tuple[int, ...]
    """Numbers of the sources of these passages."""
    reason: Annotated[str, Field(examples=["words"])]
    """The rule or finding that rejected it, as a code."""
    problem: str
    """The same, for people."""
    nearest: str
    """What its passages say instead; empty if unknown."""
    kept_by: str | None
    """The editor in whose name the article has it all the same; null if it has not."""
    kept_at: datetime | None


class CitedPassageView(View):
    n: int
    """The number of its source in the research; the article lists it if it cites it."""
    titles: tuple[str, ...]
    """The headings over it, the page's first."""
    text: str


class EvidenceView(View):
    """The passages that support the sentences of a version, and the model's sentences that were cut."""

    content_id: UUID
    version: int
    """Sentences that people changed since its writer are left out."""
    sentences: tuple[KeptSentenceView, ...]
    """In order; of a digest, its paragraphs and items. Empty for a model's article that is older than this record."""
    cuts: tuple[CutSentenceView, ...]
    """In order; also those that an editor keeps, which are among the sentences, too."""
    passages: dict[str, CitedPassageView]
    """By id, all that these sentences cite."""

    @classmethod
    def of(cls, content_id: UUID, found: VersionEvidence) -> Self:
        shown = {**asdict(found.evidence), "cuts": cut_sentence_views(found.evidence)}
        return cls.model_validate({"content_id": content_id, "version": found.version, **shown})


class MarkedSentenceView(View):
    """A sentence of a version, word for word."""

    text: str
    start: int
    end: int
    """Its place in `body_markdown`, in characters, without the citations behind it."""
    verdict: Annotated[str, Field(examples=["held"])]
    """As in the evidence (`quoted`, `held`, `confirmed`, `transition`, `kept`). Of a sentence that people changed: `quoted` or `held`
    if a passage says it in its words; `unsupported` if none does; `unchecked` if the rules cannot read it."""
    given_by: Annotated[str, Field(examples=["rules"])]
    """Who gave the verdict: `rules`, the name of a model, or the editor."""
    sources: tuple[int, ...]
    passages: tuple[str, ...]
    """Ids of the passages that carry it."""
    problem: str
    """Why it is unsupported or unchecked; else empty."""
    nearest: str
    """What the passages say instead; empty if unknown."""


class MarkedBlockView(View):
    kind: MarkdownBlockKind
    text: str
    """As readers see it."""
    start: int
    end: int
    """Its place in `body_markdown`, in characters, without its leading mark."""
    sentences: tuple[MarkedSentenceView, ...]
    """Of prose; empty for headings, listings and tables."""


class MarkedArticleView(View):
    """A version, sentence by sentence, with what each rests on."""

    content_id: UUID
    version: int
    research_id: UUID
    """The research that it was written from; its service has the passages in their context."""
    carried: Annotated[int, Field(examples=[12])]
    """Sentences that a passage carries, or that state nothing."""
    total: Annotated[int, Field(examples=[12])]
    """All sentences."""
    blocks: tuple[MarkedBlockView, ...]
    passages: dict[str, CitedPassageView]
    """By id, as its writer read them."""

    @classmethod
    def of(cls, content_id: UUID, marked: MarkedVersion) -> Self:
        blocks = tuple(MarkedBlockView.from_row(each) for each in marked.blocks)
        verdicts = [each.verdict for block in blocks for each in block.sentences]
        return cls(
            content_id=content_id,
            version=marked.version,
            research_id=marked.research_id,
            carried=sum(each in CARRIED for each in verdicts),
            total=len(verdicts),
            blocks=blocks,
            passages={name: CitedPassageView.from_row(each) for name, each in marked.passages.items()},
        )


def _readable(text: str) -> str:
    """The text as it was typed, so that places in it stay; raises ValueError for control characters."""
    prose(text)
    return text


class CheckTextBody(RequestBody):
    """A text that is not saved."""

    body_markdown: Annotated[str, Field(max_length=MAX_CHECKED_TEXT), AfterValidator(_readable)]
    """As it would be saved."""
    version: Annotated[
        int | None,
        Field(
            ge=1,
            le=MAX_VERSION,
            examples=[1],
            description="That the text was made from; left out: the one that stands.",
        ),
    ] = None


class CheckedTextView(View):
    """A text that is not saved, as its sentences compare with what the article rests on."""

    content_id: UUID
    version: int
    """The version whose evidence it was compared with."""
    carried: Annotated[int, Field(examples=[11])]
    """Sentences that a passage carries, or that state nothing."""
    total: Annotated[int, Field(examples=[12])]
    """All sentences."""
    to_look_at: tuple[MarkedSentenceView, ...]
    """The other sentences, in order: what no passage says, as far as the rules on words can tell, what they cannot read, and what an
    editor keeps."""

    @classmethod
    def of(cls, content_id: UUID, marked: MarkedVersion) -> Self:
        found = [each for block in marked.blocks for each in block.sentences]
        others = [each for each in found if each.verdict not in CARRIED]
        return cls(
            content_id=content_id,
            version=marked.version,
            carried=len(found) - len(others),
            total=len(found),
            to_look_at=tuple(MarkedSentenceView.from_row(each) for each in others),
        )


def cut_sentence_views(evidence: ArticleEvidence) -> tuple[CutSentenceView, ...]:
    known = evidence.passages
    return tuple(
        CutSentenceView.model_validate(
            {
                **asdict(each),
                "number": number,
                "sources": sorted({known[name].n for name in each.passages if name in known}),
                "kept_by": each.kept_by or None,
            }
        )
        for number, each in enumerate(evidence.cuts, 1)
    )


class ContentOrigin(View):
    content_id: UUID
    brand: ContentBrand
    keyword: str


class ContentView(ArticleText, ContentOrigin):
    """An article. Its body contains neither the title nor the sources: renderers add both."""

    sources: tuple[SourceView, ...]
    created_at: datetime
    updated_at: datetime
    published_url: str | None
    held_for: tuple[str, ...]
    """Why it needs a person's approval before publication; empty if it needs none."""
    taken_down_at: datetime | None
    """When its page was taken down; null if it was not."""

    @classmethod
    def of(cls, content: StoredContent) -> Self:
        brand = ContentBrand(
            slug=content.brand_slug,
            name=content.brand_name,
            description=content.brand_description,
            language=content.brand_language,
        )
        return cls(**{**dict(content), "brand": brand})


class ListedContent(View):
    etag: str
    content: ContentView


class ContentList(View):
    items: tuple[ListedContent, ...]


class ArticleSummary(View):
    """An article without its text, which is at `/v1/content/{content_id}`."""

    content_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    keyword: Annotated[str, Field(examples=["pour over ratio"])]
    title: Annotated[str, Field(examples=["Pour over ratio"])]
    state: ArticleState
    """`waiting`: for a person, its writer or its time; `publishing`: approved, but its page is not confirmed yet."""
    word_count: Annotated[int, Field(examples=[412])]
    published_url: str | None
    created_at: datetime
    updated_at: datetime


class ArticleList(View):
    """A page of articles, the latest first."""

    items: tuple[ArticleSummary, ...]
    next: UUID | None
    """Send it as `after` to get the next page; null on the last one."""

    @classmethod
    def of(cls, found: Sequence[FoundArticle], limit: int) -> Self:
        """Builds a page from up to `limit` + 1 articles; an extra one means that another page follows."""
        page = found[:limit]
        return cls(
            items=tuple(map(ArticleSummary.from_row, page)),
            next=page[-1].content_id if len(found) > limit else None,
        )


class CitingSentenceView(View):
    """A sentence of an article that rests on a document."""

    text: str
    """Of a digest, a whole paragraph or item."""
    heading: str
    """Of its section in the article; empty in the opening."""
    verdict: Annotated[str, Field(examples=["held"])]
    """As in the evidence of its article."""
    given_by: Annotated[str, Field(examples=["rules"])]
    """Who gave the verdict: `rules`, the name of a model, or the editor."""
    titles: tuple[str, ...]
    """Where its passage stands in the document: the titles above it, the page's first."""


class CitingArticleView(View):
    """An article with its sentences that rest on a document."""

    content_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    keyword: str
    title: str
    state: ArticleState
    published_url: str | None
    version: int
    """Sentences that people changed since its writer are left out."""
    sentences: tuple[CitingSentenceView, ...]
    """In order; empty if the article is older than this record, or if people changed all of them."""


class CitingArticleList(View):
    """A page of articles, the latest first."""

    items: tuple[CitingArticleView, ...]
    next: UUID | None
    """Send it as `after` to get the next page; null on the last one."""

    @classmethod
    def of(cls, found: Sequence[CitingArticle], limit: int) -> Self:
        """Builds a page from up to `limit` + 1 articles; an extra one means that another page follows."""
        page = found[:limit]
        return cls(
            items=tuple(CitingArticleView.from_row(each) for each in page),
            next=page[-1].content_id if len(found) > limit else None,
        )
