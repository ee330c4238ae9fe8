"""What the HTTP API takes and gives. Every refusal is a sentence that says what to do."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Self
from uuid import UUID

from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from envelope.brand.payloads import Priority
from orchestrator.content_store import StoredContent
from orchestrator.domain import Bucket, KeywordState, bucket, fold_duplicates, percent
from orchestrator.store import Brand, Cycle, KeywordRow

MAX_KEYWORDS: Final = 1000
MAX_KEYWORD_LENGTH: Final = 200
MAX_CHANNELS: Final = 20
SLUG_PATTERN: Final = "^[a-z0-9]+(-[a-z0-9]+)*$"
NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"
LANGUAGE_PATTERN: Final = "^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"


def _visible(text: str) -> str:
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise ValueError(f"contains a control character: {_shown(text)}; remove it")
    return " ".join(text.split())


def _keyword(text: str) -> str:
    keyword = _visible(text)
    if not keyword:
        raise ValueError("is blank; leave it out or say what to write about")
    if len(keyword) > MAX_KEYWORD_LENGTH:
        raise ValueError(
            f"has {len(keyword):,} characters, the limit is {MAX_KEYWORD_LENGTH}: {_shown(keyword)}; shorten it"
        )
    if not any(char.isalnum() for char in keyword):
        raise ValueError(
            f"has no letter or digit: {_shown(keyword)}; leave it out or say what to write about"
        )
    return keyword


def _not_blank(text: str) -> str:
    visible = _visible(text)
    if not any(char.isprintable() and not char.isspace() for char in visible):
        raise ValueError("is blank; fill it in")
    return visible


def _prose(text: str) -> str:
    """Line breaks and tabs are part of prose, other control characters are not."""
    _visible(text.translate({ord(char): " " for char in "\r\n\t"}))
    return text.strip()


def _channels(channels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(channels))


def _countable(keywords: Any) -> Any:
    # Counted before each one is looked at: the count is the better answer to a list that is far too long.
    if isinstance(keywords, list | tuple):
        if not keywords:
            raise ValueError("is empty; give at least one keyword")
        if len(keywords) > MAX_KEYWORDS:
            raise ValueError(f"has {len(keywords):,} entries, the limit is {MAX_KEYWORDS:,}; split the list")
    return keywords


Keyword = Annotated[
    str,
    AfterValidator(_keyword),
    # For the document only: the check itself counts after folding white space, and says what to do.
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_KEYWORD_LENGTH}),
]
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=40)]


class _View(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class _Request(_View):
    model_config = ConfigDict(extra="forbid")


class BrandRequest(_Request):
    """What a brand is to be. Fields left out take their defaults, also when the brand exists."""

    name: Annotated[
        str, Field(min_length=1, max_length=200, examples=["The Daily Grind"]), AfterValidator(_not_blank)
    ]
    """As readers see it."""
    description: Annotated[
        str,
        Field(max_length=2000, examples=["Home coffee brewing, without the mystique."]),
        AfterValidator(_prose),
    ] = ""
    """Shown on the brand's site."""
    language: Annotated[str, Field(pattern=LANGUAGE_PATTERN, max_length=35, examples=["en"])] = "en"
    """Language tag (BCP 47) of what is written."""
    channels: Annotated[
        tuple[Name, ...], Field(max_length=MAX_CHANNELS, examples=[["feed"]]), AfterValidator(_channels)
    ] = ("feed",)
    """Where articles are promoted. `feed` is the built-in public feed; an empty list means no promotion."""
    target: Annotated[Name, Field(examples=["site"])] = "site"
    """Where articles are published. `site` is the built-in site."""


class ResearchRequest(_Request):
    """Keywords to turn into articles. Duplicates (but for case and spacing) are folded, the first spelling stays."""

    keywords: Annotated[
        tuple[Keyword, ...],
        Field(
            min_length=1,
            max_length=MAX_KEYWORDS,
            examples=[["pour over ratio", "cold brew", "espresso grind size"]],
        ),
        BeforeValidator(_countable),
        AfterValidator(fold_duplicates),
    ]
    """1 to 1,000 keywords of at most 200 characters."""
    priority: Annotated[Priority, Field(examples=["normal"])] = Priority.NORMAL
    """Passed on to research."""


class Problem(_View):
    """Why a request was refused."""

    detail: Annotated[str, Field(examples=["keywords: is empty; give at least one keyword"])]
    """A sentence that says what is wrong and what to do."""


class BrandView(_View):
    slug: Annotated[str, Field(examples=["daily-grind"])]
    name: Annotated[str, Field(examples=["The Daily Grind"])]
    description: str
    language: Annotated[str, Field(examples=["en"])]
    channels: Annotated[tuple[str, ...], Field(examples=[["feed"]])]
    target: Annotated[str, Field(examples=["site"])]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, brand: Brand) -> Self:
        return cls(
            slug=brand.slug,
            name=brand.name,
            description=brand.description,
            language=brand.language,
            channels=brand.channels,
            target=brand.target,
            created_at=brand.created_at,
            updated_at=brand.updated_at,
        )


class CycleAccepted(_View):
    """The batch is accepted; its progress is at the address in the `Location` header."""

    cycle_id: UUID
    correlation_id: Annotated[str, Field(examples=["0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"])]
    """On every message and log line that this batch causes."""
    total: Annotated[int, Field(ge=1, examples=[3])]
    """Keywords after folding duplicates."""

    @classmethod
    def of(cls, cycle: Cycle) -> Self:
        return cls(cycle_id=cycle.cycle_id, correlation_id=cycle.correlation_id, total=cycle.total)


class CycleState(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    """Every keyword has ended, one way or the other."""


class PostView(_View):
    platform: Annotated[str, Field(examples=["feed"])]
    url: Annotated[str, Field(examples=["http://127.0.0.1:8013/feeds/daily-grind/0197a3c4"])]


class KeywordView(_View):
    keyword: Annotated[str, Field(examples=["pour over ratio"])]
    state: KeywordState
    """`queued` at research; `refused`: too little material to write honestly; `failed`: `reason` says why. A `refused` or
    `failed` keyword moves again if its missing outcome arrives after all, e.g. after a replay."""
    reason: str | None
    """Why it was refused or failed, or which posts a completed one lacks."""
    content_id: UUID | None
    """Once research has succeeded; the article is at `/v1/content/{content_id}` when it is written."""
    published_url: str | None
    posts: tuple[PostView, ...]

    @classmethod
    def of(cls, row: KeywordRow) -> Self:
        facts = row.facts
        return cls(
            keyword=row.keyword,
            state=facts.state,
            reason=facts.reason,
            content_id=facts.content_id,
            published_url=facts.published_url,
            posts=tuple(
                PostView(platform=post.platform, url=post.url) for post in facts.posts if post.url is not None
            ),
        )


class CycleView(_View):
    """Progress of a batch. `total` = `pending` + `processing` + `completed` + `failed`."""

    cycle_id: UUID
    correlation_id: str
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    state: CycleState
    pending: Annotated[int, Field(examples=[1])]
    """Keywords waiting for research."""
    processing: Annotated[int, Field(examples=[1])]
    """Keywords being written, published or promoted."""
    completed: Annotated[int, Field(examples=[1])]
    failed: Annotated[int, Field(examples=[0])]
    """Keywords that were refused or failed."""
    total: Annotated[int, Field(examples=[3])]
    percent: Annotated[int, Field(ge=0, le=100, examples=[33])]
    """Keywords that have ended, of all, in whole per cent, rounded down."""
    created_at: datetime
    keywords: tuple[KeywordView, ...]

    @classmethod
    def of(cls, cycle: Cycle, rows: Sequence[KeywordRow]) -> Self:
        counts = dict.fromkeys(Bucket, 0)
        for row in rows:
            counts[bucket(row.facts.state)] += 1
        ended = counts[Bucket.COMPLETED] + counts[Bucket.FAILED]
        return cls(
            cycle_id=cycle.cycle_id,
            correlation_id=cycle.correlation_id,
            brand_slug=cycle.brand_slug,
            state=CycleState.COMPLETED if ended == len(rows) else CycleState.RUNNING,
            pending=counts[Bucket.PENDING],
            processing=counts[Bucket.PROCESSING],
            completed=counts[Bucket.COMPLETED],
            failed=counts[Bucket.FAILED],
            total=len(rows),
            percent=percent(ended=ended, total=len(rows)),
            created_at=cycle.created_at,
            keywords=tuple(KeywordView.of(row) for row in rows),
        )


class ContentBrand(_View):
    slug: Annotated[str, Field(examples=["daily-grind"])]
    name: str
    description: str
    language: str


class SourceView(_View):
    n: Annotated[int, Field(ge=1, examples=[1])]
    """What ` [n]` in the article refers to."""
    title: str
    url: str | None
    path: str | None
    """File name inside the corpus, for a source without an address."""
    licence: str | None


class ContentView(_View):
    """An article. The title is not in the body, nor are the sources: whoever renders it adds both."""

    content_id: UUID
    brand: ContentBrand
    keyword: str
    slug: Annotated[str, Field(examples=["pour-over-ratio"])]
    """For its address; unique within the brand."""
    title: str
    meta_description: str
    body_markdown: Annotated[str, Field(examples=["## Ratio\n\nSixteen parts of water suit most beans. [1]"])]
    """`## ` sections; every sentence is followed by its citation ` [n]`."""
    word_count: int
    key_points: tuple[str, ...]
    label: str | None
    """How the text came about, to be shown to readers."""
    sources: tuple[SourceView, ...]
    created_at: datetime
    updated_at: datetime
    published_url: str | None

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
        )


class ListedContent(_View):
    etag: str
    content: ContentView


class ContentList(_View):
    items: tuple[ListedContent, ...]


def problem_of(error: RequestValidationError) -> str:
    """The first complaint as one sentence, e.g. `keywords[2]: is blank; leave it out …`."""
    first = error.errors()[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"][1:]).lstrip(
        "."
    )
    shown = "".join(char if char.isprintable() else "?" for char in place[:120])
    complaint = _complaint(first)
    return f"{shown}: {complaint}" if shown else complaint


_COMPLAINTS: Final = {
    "missing": "is missing; it is required",
    "extra_forbidden": "is not a field of this request; remove it or correct its spelling",
    "model_attributes_type": "the request body must be a JSON object",
    "string_type": "must be a string",
    "tuple_type": "must be a list",
    "too_long": "has more than {max_length:,} entries, which is the limit; split the list",
    "string_too_long": "has more than {max_length:,} characters; shorten it",
    "string_too_short": "is blank; fill it in or leave it out",
    "string_pattern_mismatch": "does not match {pattern}",
    "enum": "must be {expected}",
    "uuid_parsing": "is not a UUID",
    "value_error": "{error}",
}
"""What is said of pydantic's error types; for others, what pydantic says."""


def _complaint(error: Mapping[str, Any]) -> str:
    if error["type"] == "missing" and len(error["loc"]) == 1:
        return "the request has no body; send a JSON object"
    template = _COMPLAINTS.get(error["type"])
    return template.format(**error.get("ctx", {})) if template else str(error["msg"])


def _shown(text: str) -> str:
    """The beginning of a text as ASCII, whatever is in it."""
    return ascii(text[:40] + ("…" if len(text) > 40 else ""))  # noqa: PLR2004  (enough to recognise it by)
