"""The rows of a brand as an archive has them. Pure: no I/O, no clock."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field

from chassis.links import public_link
from envelope.brand.payloads import MAX_BRAND_SLUG, SLUG_PATTERN
from messaging.brand_parts import CopiedRow
from writing.article import ArticleEvidence
from writing.quality.measures import Measure

_MAX_LIST: Final = 2_000
_MAX_KEYWORDS: Final = 5_000
_MAX_VERSIONS: Final = 1_000


def _is_link(address: str) -> str:
    if public_link(address) is None:
        raise ValueError("must be a web address such as https://example.com/guide")
    return address


def _is_small(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if len(str(document)) > 10_000:  # noqa: PLR2004 - characters of a small document
        raise ValueError("is longer than 10,000 characters")
    return document


Line = Annotated[str, Field(max_length=2_000)]
Text = Annotated[str, Field(max_length=1_000_000)]
Slug = Annotated[str, Field(pattern=SLUG_PATTERN, max_length=200)]
"""Drafts have their article's id in theirs."""
Name = Annotated[str, Field(pattern="^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=MAX_BRAND_SLUG)]
Link = Annotated[str, Field(max_length=2_000), AfterValidator(_is_link)]
Lines = Annotated[tuple[Line, ...], Field(max_length=_MAX_LIST)]
SmallDocument = Annotated[Mapping[str, Any], AfterValidator(_is_small)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Priority = Literal["high", "normal", "low"]


class BrandPartRow(CopiedRow):
    """The columns of a brand's settings. `PUT /v1/brands/{slug}` checks them in the same way."""

    name: Line
    description: Text
    language: Line
    channels: Lines
    target: Line
    further_targets: Lines
    writer: Line
    forbidden_words: Lines
    tone: Line
    audience: Line
    words: int | None
    min_sources: int
    approval: str | None
    posts_approval: str
    short_links: bool
    articles_per_day: int | None
    stale_after_days: int | None
    refresh_stale: int | None
    deadline_hours: int | None
    max_cost: float | None
    max_unreviewed_drafts: int
    quiet_hours: SmallDocument | None
    created_at: datetime


class PostResultRow(CopiedRow):
    """A channel's answer about an article's post, as the column `posts` has it."""

    platform: Line
    url: Link | None = None
    reason: Line | None = None


class SetbackRow(CopiedRow):
    """Why a stage of a keyword failed, as the column `setbacks` has it."""

    reason: Line
    refused: bool = False


class PictureRow(CopiedRow):
    """An article's picture, as the column `picture` has it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    url: Link
    alt: Line
    media_type: Line
    width: Count
    height: Count
    jpeg_url: Link | None = None


class KeywordTimesRow(CopiedRow):
    """Times of a keyword's steps, as the column `times` has them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    research_asked: datetime | None = None
    researched: datetime | None = None
    writing_asked: datetime | None = None
    published: datetime | None = None
    ended: datetime | None = None
    posts: Mapping[str, datetime] = Field(default_factory=dict, max_length=100)


Stage = Literal["research", "writing", "publishing", "promoting"]


class KeywordPartRow(CopiedRow):
    cycle_id: UUID
    position: Count
    keyword: Line
    state: Literal[
        "queued", "writing", "publishing", "promoting", "completed", "refused", "needs_review", "rejected", "failed", "cancelled",
    ]  # fmt: skip
    reason: Line | None
    research_id: UUID | None
    content_id: UUID | None
    generated: bool
    published_url: Link | None
    promoted: bool
    setbacks: Mapping[Stage, SetbackRow]
    posts: Annotated[tuple[PostResultRow, ...], Field(max_length=100)]
    moved_at: datetime
    held: bool
    rejected: bool
    rank: Annotated[int, Field(ge=0, le=2)]
    cancelled: bool
    standing_id: UUID | None
    standing_why: Line | None
    refresh: bool
    is_distinct: bool
    subject: Line | None
    subject_key: Line | None
    times: KeywordTimesRow
    short_link: Link | None
    picture: PictureRow | None
    tags: Lines


class CyclePartRow(CopiedRow):
    """A cycle; its keywords are a part of their own, as it may have ten thousand."""

    cycle_id: UUID
    correlation_id: Line
    priority: Priority
    target: Name
    channels: Annotated[tuple[Name, ...], Field(max_length=20)]
    created_at: datetime
    ended_at: datetime | None
    cancelled_at: datetime | None
    submitted_by: Line | None
    approval: Literal["everything", "first", "nothing"] | None
    paused_at: datetime | None = None
    deadline: datetime | None = None
    max_cost: Annotated[int, Field(ge=0, le=2**62)] | None = None
    """Micro-dollars."""


class SourceRow(CopiedRow):
    """A source that an article cites, as the column `sources` has it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    n: Annotated[int, Field(ge=1, le=999)]
    title: Line
    section: Line | None = None
    work: Line | None = None
    url: Line | None = None
    path: Line | None = None
    licence: Line | None = None
    published_on: Line | None = None
    author: Line | None = None
    quoted: bool = False


class _ArticleText(CopiedRow):
    title: Line
    meta_description: Line
    body_markdown: Text
    word_count: Count
    key_points: Lines
    label: Line | None
    sources: Annotated[tuple[SourceRow, ...], Field(max_length=1_000)]
    measures: Annotated[tuple[Measure, ...], Field(max_length=1_000)]
    evidence: ArticleEvidence | None


class VersionPartRow(_ArticleText):
    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    slug: Slug
    made_by: Line
    why: Text
    made_at: datetime


class DecisionPartRow(CopiedRow):
    version: Count
    decision: Literal["approved", "returned", "edited", "rejected", "taken_down"]
    comment: Text
    made_by: Line
    made_at: datetime


class AppointmentPartRow(CopiedRow):
    version: Count
    publish_at: datetime
    made_by: Line
    made_at: datetime
    ended_at: datetime | None
    ended_by: Line | None
    ended_as: Literal["kept", "moved", "called_off", "overtaken"] | None


class PlacementPartRow(CopiedRow):
    target: Name
    state: Literal["asked", "published", "failed", "withdrawn"]
    url: Link | None
    reason: Line | None
    as_of: datetime | None
    asked_at: datetime
    answered_at: datetime | None


class ContentPartRow(_ArticleText):
    """An article with its versions, decisions, planned times and states at further targets."""

    content_id: UUID
    keyword: Line
    research_id: UUID
    slug: Slug
    published_url: Link | None
    created_at: datetime
    updated_at: datetime
    held_for: Lines
    fingerprint: Annotated[tuple[int, ...], Field(max_length=100_000)] | None
    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    decision: Literal["approved", "returned", "rejected", "taken_down"] | None
    waits_since: datetime | None
    offered_version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None
    taken_down_at: datetime | None
    published_as_of: datetime | None
    refreshed_at: datetime | None
    reviewed_at: datetime | None
    subject: Line | None
    subject_key: Line | None
    is_distinct: bool
    content_versions: Annotated[tuple[VersionPartRow, ...], Field(max_length=_MAX_VERSIONS)] = ()
    decisions: Annotated[tuple[DecisionPartRow, ...], Field(max_length=_MAX_VERSIONS)] = ()
    appointments: Annotated[tuple[AppointmentPartRow, ...], Field(max_length=_MAX_VERSIONS)] = ()
    placements: Annotated[tuple[PlacementPartRow, ...], Field(max_length=20)] = ()


class FormerAddressPartRow(CopiedRow):
    slug: Slug
    content_id: UUID
    left_at: datetime


class DeletedArticlePartRow(CopiedRow):
    content_id: UUID
    address: Line
    published_url: Link | None
    deleted_at: datetime
    deleted_by: Line
    reason: Text


class SubjectDecisionPartRow(CopiedRow):
    kind: Literal["join", "split"]
    spelling: Line
    keyword: Line
    other: Line | None
    includes_own: bool
    decided_by: Line
    decided_at: datetime


class SchedulePartRow(CopiedRow):
    schedule_id: UUID
    name: Line
    kind: Literal["research", "audit"]
    keywords: Annotated[tuple[Line, ...], Field(max_length=_MAX_KEYWORDS)]
    take: int | None
    position: Count
    priority: Priority
    priorities: SmallDocument
    distinct_keywords: Annotated[tuple[Line, ...], Field(max_length=_MAX_KEYWORDS)]
    refresh: bool
    cron: Line | None
    time_zone: Line
    state: Literal["active", "paused", "parked", "ended"]
    due_at: datetime
    try_at: datetime
    reason: Line | None
    deadline_hours: Annotated[int, Field(ge=1, le=8760)] | None
    max_cost: Annotated[float, Field(ge=0.01, le=1_000_000)] | None
    created_at: datetime
    updated_at: datetime
