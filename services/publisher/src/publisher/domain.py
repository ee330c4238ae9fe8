"""The rules for sites, pages and articles. Pure: no I/O, no clock, no randomness."""

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from enum import StrEnum
from math import ceil
from typing import Annotated, Any, Final, NewType, Self
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from slugify import slugify

from chassis.links import public_link
from envelope.brand.article import ArticleText

BrandSlug = NewType("BrandSlug", str)
PageSlug = NewType("PageSlug", str)

SLUG_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_SLUG_LENGTH = 80
_MAX_REASONS = 1000
# The silent reading speed of adults in English, non-fiction: 238 words a minute (Brysbaert 2019), rounded down.
_WORDS_PER_MINUTE = 230
# A description repeats the text if the text's beginning contains the description's first characters.
_RECOGNISABLE_LENGTH = 60
_OPENING_LENGTH = 200

# Characters that must not reach a page: NUL and other controls (PostgreSQL and XML refuse them), bidirectional embeddings
# and overrides (they make text read as something else), zero-width characters and tags (invisible text).
# Joiners and directional marks stay: emoji, Persian and Hebrew need them.
_UNWANTED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f]"
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_RIGHT_TO_LEFT = frozenset({"ar", "ckb", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"})


def clean_text(text: str) -> str:
    """Removes the characters that pages must not contain; keeps line breaks."""
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def clean_line(text: str) -> str:
    """As `clean_text`, but on one line: each run of white space becomes a single space."""
    return " ".join(clean_text(text).split())


def _cleaned_line(value: object) -> object:
    return clean_line(value) if isinstance(value, str) else value


Line = Annotated[str, BeforeValidator(_cleaned_line)]


_LABEL_OF_OPERATORS: Final = "Extractive digest – no AI model configured"  # noqa: RUF001 - the label's own dash


def label_for_readers(label: str) -> str:
    """The note on how the article was made. Replaces the label of an earlier version, which named the missing model."""
    return label.replace(
        _LABEL_OF_OPERATORS,
        "How this was made: a digest that a program put together from paragraphs of the sources below, word for word",
    )


_REVIEWED: Final = re.compile(r"(?:No|A) person has (?:reviewed|edited) it\.$")
_EDITED: Final = "edited"
_MOST_NAMED: Final = 2


@dataclass(frozen=True, slots=True)
class QuotationNote:
    """The note of an article that quotes: from what, and whether a person has seen it.

    `beginning`, the named sources and `ending` make a sentence or two.
    """

    beginning: str
    sources: tuple["CitedSource", ...]
    ending: str

    @property
    def text(self) -> str:
        """The note without links."""
        return f"{self.beginning} {' and '.join(f'“{source.name}”' for source in self.sources)}{self.ending}"


def quotation_note(sources: Collection["CitedSource"], label: str | None) -> QuotationNote | None:
    """The note of an article with these sources, from what is known of them; None if it does not quote all of them.

    What persons did is in the label alone.
    """
    if not sources or not all(source.quoted for source in sources):
        return None
    seen = _REVIEWED.search(label or "")
    ordered = sorted(sources, key=lambda source: source.n)
    more = len(ordered) - _MOST_NAMED
    named = ordered[:_MOST_NAMED] if more != 1 else ordered[:1]
    left = len(ordered) - len(named)
    facts = [f" and {left} more" if left else ""]
    for word, values in (
        ("", {source.work for source in ordered if source.work != source.name}),
        ("by ", {source.author for source in ordered}),
        ("licence ", {source.licence for source in ordered}),
    ):
        if len(values) == 1 and (value := next(iter(values))):
            facts.append(f", {word}{value}")
    section = ordered[0].section if len(ordered) == 1 else None
    place = f" “{section}” in" if section else ""
    return QuotationNote(
        f"Quoted {'from' if seen and _EDITED in seen[0] else 'word for word from'}{place}",
        tuple(named),
        f"{''.join(facts)}.{f' {seen[0]}' if seen else ''}",
    )


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class BrandDocument(_Document):
    slug: str
    name: Line
    description: Line = ""
    language: str = "en"


class CitedSource(_Document):
    n: int = Field(ge=1, le=999)
    title: Line
    url: Line | None = None
    licence: Line | None = None
    published_on: date | None = None
    """The source's own date of last change, or of publication."""
    author: Line | None = None
    quoted: bool = False
    """Whether the article was composed of its words alone."""
    section: Line | None = None
    """The title of the section that is all the article quotes of it."""
    work: Line | None = None
    """The title of the book or documentation that it belongs to."""

    @property
    def link(self) -> str | None:
        """The URL without user name and password, if it is safe to follow; else None."""
        return public_link(self.url)

    @property
    def host(self) -> str | None:
        return (urlsplit(self.link).hostname or "").removeprefix("www.") if self.link else None

    @property
    def name(self) -> str:
        return self.title or self.link or f"Source {self.n}"


class Article(ArticleText, _Document):
    """The orchestrator's answer to `GET /v1/content/{id}`; fields that the publisher does not need are ignored."""

    content_id: UUID
    brand: BrandDocument
    keyword: Line
    word_count: int = Field(ge=0, le=10_000_000)
    sources: tuple[CitedSource, ...]
    updated_at: AwareDatetime
    held_for: tuple[Line, ...] = ()
    """Why the article waits for review; empty if it does not."""
    taken_down_at: AwareDatetime | None = None
    """When a person took the article down."""

    @field_validator(*ArticleText.model_fields, mode="before")
    @classmethod
    def _cleaned(cls, value: object, field: ValidationInfo) -> object:
        """Removes what pages must not contain from the texts; only the body has several lines."""
        clean = clean_text if field.field_name == "body_markdown" else clean_line
        if isinstance(value, (list, tuple)):
            return [clean(each) if isinstance(each, str) else each for each in value]
        return clean(value) if isinstance(value, str) else value

    @field_validator("label")
    @classmethod
    def _for_readers(cls, label: str | None) -> str | None:
        return None if label is None else label_for_readers(label)

    @property
    def note(self) -> str | None:
        """The note for readers on how the article was made."""
        quoted = quotation_note(self.sources, self.label)
        return self.label if quoted is None else quoted.text

    @model_validator(mode="after")
    def _source_numbers_are_unique(self) -> Self:
        numbers = [source.n for source in self.sources]
        if len(set(numbers)) != len(numbers):
            raise ValueError("two sources have the same number, so a citation of it would be ambiguous")
        return self


class PageSection(_Document):
    anchor: str
    title: str


@dataclass(frozen=True, slots=True)
class PublishRefusal:
    """Why an article is not published: a code for programs, a sentence for people."""

    reason: str
    detail: str


class LogoBackground(StrEnum):
    """The background behind a logo that lacks contrast with the page."""

    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Logo:
    """A brand's logo as pages show it; width and height in pixels."""

    digest: str
    """Hash of the logo's file."""
    width: int
    height: int
    plate: LogoBackground | None
    """The background that the logo needs on light or dark pages, if any."""


class UnusableLogoError(ValueError):
    """The file cannot be a logo; the message says why, and what to send instead."""


class Typefaces(StrEnum):
    """The typefaces of pages, from those installed on readers' devices; pages load no fonts."""

    SERIF = "serif"
    """Serif for text and headings, sans-serif for the rest."""
    SANS = "sans"
    """Sans-serif throughout."""
    MIXED = "mixed"
    """Serif for text, sans-serif for headings."""


class Author(_Document):
    """The author that the brand names for its articles."""

    name: str
    about: str = ""

    @property
    def slug(self) -> PageSlug:
        return PageSlug(slugify(self.name, max_length=_MAX_SLUG_LENGTH) or "author")


class MenuEntry(_Document):
    """An entry of a site's menu."""

    title: str
    to: str
    """A page of the site, such as `/` or `/tags/espresso`, or an address over https."""


class SiteSettings(_Document):
    """A brand's settings of its site; the defaults apply to everything unset."""

    accent: str | None = None
    """`#1f6154`; None: a colour derived from the brand's name."""
    typefaces: Typefaces = Typefaces.SERIF
    tags: tuple[str, ...] = ()
    """An article gets a tag if its title, keyword or headings contain all words of it."""
    author: Author | None = None
    address: str | None = None
    """The site's own origin: `https://blog.example.org`."""
    canonical_source: bool = False
    """Whether an article that quotes a single source names that source's address as canonical."""
    menu: tuple[MenuEntry, ...] = ()
    """The entries of the menu, in this order; empty: those that every site has."""


def tag_slug(tag: str) -> PageSlug:
    """The slug of a tag's page; empty if the tag has no letter or digit."""
    return PageSlug(slugify(tag, max_length=_MAX_SLUG_LENGTH))


@dataclass(frozen=True, slots=True)
class Site:
    brand_slug: BrandSlug
    name: str
    description: str
    language: str
    changed_at: datetime
    pages: int
    """Visible articles; 0 if they were not counted."""
    logo: Logo | None = None
    settings: SiteSettings = field(default_factory=SiteSettings)
    has_newsletter: bool = False

    @property
    def accent(self) -> str | None:
        return self.settings.accent

    def with_settings(self, settings: SiteSettings) -> Self:
        """A copy of the site with these settings."""
        return replace(self, settings=settings)


@dataclass(frozen=True, slots=True)
class PageSummary:
    content_id: UUID
    slug: PageSlug
    title: str
    meta_description: str
    word_count: int
    published_at: datetime
    updated_at: datetime
    figure: str | None
    """The figure of its cover, as JSON."""


@dataclass(frozen=True, slots=True)
class ArticlePage(PageSummary):
    keyword: str
    body_html: str
    sections: tuple[PageSection, ...]
    sources: tuple[CitedSource, ...]
    cited: frozenset[int]
    label: str | None
    taken_down_at: datetime | None = None
    canonical_url: str | None = None
    """The address at the article's home; None: this page is the home."""


def quoted_address(page: ArticlePage, settings: SiteSettings) -> str | None:
    """The address of the only source that the page quotes, if it counts as the original: the brand says so, or it is its own host."""
    if len(page.sources) != 1 or not page.sources[0].quoted or page.sources[0].link is None:
        return None
    source = page.sources[0]
    is_own = (
        settings.address is not None and urlsplit(settings.address).hostname == urlsplit(source.link).hostname
    )
    return source.link if settings.canonical_source or is_own else None


PAGE_TEXTS: Final = tuple(
    each.name
    for each in fields(ArticlePage)
    if each.name in ArticleText.model_fields.keys() | {"keyword", "sources"} and each.name != "slug"
)
"""The fields of a page that are those of its article; a page's slug may be another one."""


def page_texts(article: Article) -> dict[str, Any]:
    """The values of `PAGE_TEXTS`."""
    return {name: getattr(article, name) for name in PAGE_TEXTS}


def publish_refusal(article: Article) -> PublishRefusal | None:
    """Why this article cannot become a page, or None if it can."""
    if article.held_for:
        reasons = "; ".join(article.held_for)[:_MAX_REASONS]
        return PublishRefusal("needs_review", f"The article waits for review: {reasons}")
    if not article.title:
        return PublishRefusal("empty_title", "The article has no title; write one and publish again.")
    if not article.body_markdown.strip():
        return PublishRefusal(
            "empty_article", "The article has no text; generate it again before publishing."
        )
    if not article.brand.name:
        return PublishRefusal("empty_brand_name", "The brand has no name; give it one and publish again.")
    return None


def wanted_slug(article: Article) -> PageSlug:
    """The slug for an article: from its own slug, else its title, else its id (titles can be all emoji)."""
    for candidate in (article.slug, article.title):
        if slug := slugify(candidate, max_length=_MAX_SLUG_LENGTH, word_boundary=True):
            return PageSlug(slug)
    return PageSlug(str(article.content_id))


def free_slug(wanted: PageSlug, taken: AbstractSet[str]) -> PageSlug:
    """`wanted`, or the first of `wanted-2`, `wanted-3`, … that is not taken."""
    slug, number = wanted, 1
    while slug in taken:
        number += 1
        slug = PageSlug(f"{wanted}-{number}")
    return slug


def is_slug(text: str) -> bool:
    return SLUG_PATTERN.fullmatch(text) is not None


def language_tag(language: str) -> str:
    """A valid value for `lang`; English if the brand's language is not one."""
    return language if _LANGUAGE.fullmatch(language) else "en"


def direction(language: str) -> str:
    """`rtl` or `ltr`, the value of the `dir` attribute."""
    return "rtl" if language.partition("-")[0].lower() in _RIGHT_TO_LEFT else "ltr"


def standfirst(description: str, text: str) -> str:
    """The text between title and body: the description, unless the body opens with the same words."""
    opening = text[: len(description) + _OPENING_LENGTH]
    return "" if description[:_RECOGNISABLE_LENGTH].rstrip(".… ") in opening else description


def reading_minutes(words: int) -> int:
    return max(1, ceil(words / _WORDS_PER_MINUTE))


def initial(name: str) -> str:
    """The letter in a site's icon: the first letter or digit of its name."""
    return next((character.upper() for character in name if character.isalnum()), "•")[:1]
