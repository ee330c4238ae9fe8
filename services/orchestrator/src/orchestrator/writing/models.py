"""What the API gives of articles."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from orchestrator.writing.article_search import ArticleState, FoundArticle
from orchestrator.writing.store import StoredContent


class ContentBrand(View):
    slug: Annotated[str, Field(examples=["daily-grind"])]
    name: str
    description: str
    language: str


class SourceView(View):
    n: Annotated[int, Field(ge=1, examples=[1])]
    """What ` [n]` in the article refers to."""
    title: str
    url: str | None
    path: str | None
    """File name inside the corpus, for a source without an address."""
    licence: str | None
    published_on: date | None = None
    """When it was changed last, or published, as it says itself."""


class MeasureView(View):
    name: Annotated[str, Field(examples=["words"])]
    value: Annotated[float, Field(examples=[412])]
    shown: Annotated[str, Field(examples=["412"])]
    """The value as people read it."""
    least: Annotated[float | None, Field(examples=[250])]
    most: float | None
    holds: bool
    """Whether the value is within its bounds."""
    problem: str | None
    """What is wrong, if it does not hold."""


class ScoreView(View):
    """What was measured of an article when it was written, in the order in which people look at it."""

    content_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    keyword: str
    title: str
    published_url: str | None
    held_for: tuple[str, ...]
    """Why it is not published before a person has looked at it; empty if nothing is wrong."""
    measures: tuple[MeasureView, ...]
    """Empty for an article from before articles were measured."""

    @classmethod
    def of(cls, content: StoredContent) -> Self:
        return cls(
            content_id=content.content_id,
            brand_slug=content.brand_slug,
            keyword=content.keyword,
            title=content.title,
            published_url=content.published_url,
            held_for=content.held_for,
            measures=tuple(
                MeasureView(**asdict(each), holds=each.problem is None) for each in content.measures
            ),
        )


class ContentView(View):
    """An article. The title is not in the body, nor are the sources: whoever renders it adds both."""

    content_id: UUID
    brand: ContentBrand
    keyword: str
    slug: Annotated[str, Field(examples=["pour-over-ratio"])]
    """For its address; unique within the brand."""
    title: str
    meta_description: str
    body_markdown: Annotated[str, Field(examples=["## Ratio\n\nSixteen parts of water suit most beans. [1]"])]
    r"""`## ` sections; paragraphs and items end in their citation ` [n]`, listings and tables belong to the paragraph before.

    `\[` is a bracket of the text. Links lead to other articles of the brand.
    """
    word_count: int
    key_points: tuple[str, ...]
    label: str | None
    """How the text came about, to be shown to readers."""
    sources: tuple[SourceView, ...]
    created_at: datetime
    updated_at: datetime
    published_url: str | None
    held_for: tuple[str, ...]
    """Why it must not be published before a person has looked at it; empty if nothing is wrong."""
    taken_down_at: datetime | None
    """Since when its page is not to be seen any more."""

    @classmethod
    def of(cls, content: StoredContent) -> Self:
        return cls(
            content_id=content.content_id,
            brand=ContentBrand(
                slug=content.brand_slug,
                name=content.brand_name,
                description=content.brand_description,
                language=content.brand_language,
            ),
            keyword=content.keyword,
            slug=content.slug,
            title=content.title,
            meta_description=content.meta_description,
            body_markdown=content.body_markdown,
            word_count=content.word_count,
            key_points=content.key_points,
            label=content.label,
            sources=tuple(SourceView(**source) for source in content.sources),
            created_at=content.created_at,
            updated_at=content.updated_at,
            published_url=content.published_url,
            held_for=content.held_for,
            taken_down_at=content.taken_down_at,
        )


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
    """`waiting`: for a person, its writer or its time; `publishing`: it may be published, and no word has come of its page."""
    word_count: Annotated[int, Field(examples=[412])]
    published_url: str | None
    created_at: datetime
    updated_at: datetime


class ArticleList(View):
    """Articles, the latest first."""

    items: tuple[ArticleSummary, ...]
    next: UUID | None
    """Send it as `after` to get the next page; null on the last one."""

    @classmethod
    def of(cls, found: Sequence[FoundArticle], limit: int) -> Self:
        """`found` are those of the page, and one more if there are more."""
        page = found[:limit]
        return cls(
            items=tuple(ArticleSummary(**asdict(each)) for each in page),
            next=page[-1].content_id if len(found) > limit else None,
        )
