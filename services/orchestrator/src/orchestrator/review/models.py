"""API bodies and views of versions and drafts. Each refusal says what to do."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Final, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field

from chassis.http.api import View, in_utc
from envelope.brand.payloads import SLUG_PATTERN
from orchestrator.article_workflow import MeasureView, SourceView, Version, VersionNote
from orchestrator.removal import DeletedArticle
from orchestrator.requests import RequestBody, not_blank, prose, visible
from orchestrator.review.domain import (
    MAX_COMMENT,
    DraftDecisionKind,
    DraftState,
    LatestDraftDecision,
    ReviewedDraft,
)

MAX_BODY: Final = 100_000
MAX_KEY_POINTS: Final = 20

VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1, examples=[1])]
Comment = Annotated[str, Field(max_length=MAX_COMMENT), AfterValidator(prose)]


def _text(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    prose(lines)
    if not lines.strip():
        raise ValueError("is blank; an article without a text cannot be published")
    return lines


def _telling(text: str) -> str:
    not_blank(" ".join(text.split()))
    return text


def _text_or_none(text: str | None) -> str | None:
    return None if text is None else _text(text)


def _line_or_none(text: str | None) -> str | None:
    return None if text is None else not_blank(text)


def _visible_or_none(text: str | None) -> str | None:
    return None if text is None else visible(text)


class VersionSummaryView(View):
    version: Annotated[int, Field(ge=1, examples=[2])]
    title: str
    word_count: int
    made_by: Annotated[str, Field(examples=["writer"])]
    """`writer`, or the name of the key that edited it."""
    why: Annotated[str, Field(examples=["written from research"])]
    made_at: datetime

    @classmethod
    def of(cls, note: VersionNote) -> Self:
        return cls(
            version=note.version,
            title=note.title,
            word_count=note.word_count,
            made_by=note.made_by,
            why=note.why,
            made_at=note.made_at,
        )


class VersionList(View):
    items: tuple[VersionSummaryView, ...]
    next: int | None
    """The `after` of the next page; null on the last page."""
    stands: int
    """The version that `GET /v1/content/{content_id}` shows: the newest of a waiting draft, else the approved one."""


class VersionView(VersionSummaryView):
    content_id: UUID
    slug: str
    """The requested last part of its address."""
    meta_description: str
    body_markdown: str
    key_points: tuple[str, ...]
    label: str | None
    sources: tuple[SourceView, ...]
    measures: tuple[MeasureView, ...]

    @classmethod
    def of_version(cls, content_id: UUID, version: Version) -> Self:
        text = version.text
        return cls(
            **VersionSummaryView.of(version).model_dump(),
            content_id=content_id,
            slug=text.slug,
            meta_description=text.meta_description,
            body_markdown=text.body_markdown,
            key_points=text.key_points,
            label=text.label,
            sources=tuple(SourceView(**source) for source in text.sources),
            measures=tuple(MeasureView(**asdict(each), holds=each.problem is None) for each in text.measures),
        )


class DifferenceView(View):
    first: Annotated[int, Field(examples=[1])]
    second: Annotated[int, Field(examples=[2])]
    diff: Annotated[
        str, Field(examples=["--- version 1\n+++ version 2\n@@ -1 +1 @@\n-Title: Tea\n+Title: Green tea\n"])
    ]
    """Unified diff; title, description, address and key points come before the text. Empty if nothing differs."""
    is_cut: bool
    """Whether the diff was cut because it is too long."""


class ApproveDraftBody(RequestBody):
    """Approves exactly this version, even if newer ones follow."""

    version: VersionNumber
    """The reviewed version."""
    despite_newer: bool = False
    """Approve it even if a newer version exists or is being written."""
    publish_at: Annotated[
        Annotated[AwareDatetime, AfterValidator(in_utc)] | None,
        Field(examples=["2027-03-01T09:00:00+01:00"]),
    ] = None
    """Publish at this time, which includes its UTC offset; left out: now. A second request moves the time."""


class ReturnDraftBody(RequestBody):
    version: VersionNumber
    """The reviewed version; it must be the newest."""
    comment: Annotated[
        str, Field(min_length=1, max_length=MAX_COMMENT), AfterValidator(prose), AfterValidator(_telling)
    ]
    """The changes that the model should make."""


class RejectDraftBody(RequestBody):
    version: VersionNumber
    """The reviewed version; it must be the newest."""
    reason: Annotated[
        str, Field(min_length=1, max_length=MAX_COMMENT), AfterValidator(prose), AfterValidator(_telling)
    ]
    """Stored with the decision, and shown with the keyword."""


class TakeDownBody(RequestBody):
    reason: Annotated[
        str, Field(min_length=1, max_length=MAX_COMMENT), AfterValidator(prose), AfterValidator(_telling)
    ]
    """Stored with the decision, and shown with the keyword and its posts."""


class DeleteArticleBody(RequestBody):
    reason: Annotated[
        str, Field(min_length=1, max_length=MAX_COMMENT), AfterValidator(prose), AfterValidator(_telling)
    ]
    """Stored in the record of the deletion, and shown with the keyword and its posts."""


class DeletedArticleView(View):
    """The record of a deleted article."""

    content_id: UUID
    brand_slug: str
    address: Annotated[str, Field(examples=["cold-brew"])]
    """The last part of its page's address; no other article gets it."""
    published_url: str | None
    """Its former URL, which answers 410."""
    deleted_at: datetime
    deleted_by: str
    reason: str

    @classmethod
    def of(cls, gone: DeletedArticle) -> Self:
        return cls(**asdict(gone))


class EditDraftBody(RequestBody):
    """The next version; fields left out stay as they are."""

    version: VersionNumber
    """The edited version; it must be the newest."""
    title: Annotated[str | None, Field(min_length=1, max_length=300), AfterValidator(_line_or_none)] = None
    meta_description: Annotated[str | None, Field(max_length=1000), AfterValidator(_visible_or_none)] = None
    slug: Annotated[str | None, Field(pattern=SLUG_PATTERN, max_length=80, examples=["cold-brew"])] = None
    """The last part of its address."""
    body_markdown: Annotated[str | None, Field(max_length=MAX_BODY), AfterValidator(_text_or_none)] = None
    """`## ` sections, without the title; citations ` [n]` of the article's sources."""
    key_points: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=500), AfterValidator(not_blank)], ...] | None,
        Field(max_length=MAX_KEY_POINTS),
    ] = None
    """The points from which posts are written."""
    comment: Comment = ""
    """The reason, stored with the version."""


class DraftDecisionView(View):
    decision: DraftDecisionKind
    version: int
    comment: str
    by: str
    at: datetime

    @classmethod
    def of(cls, decided: LatestDraftDecision) -> Self:
        return cls(
            decision=decided.kind,
            version=decided.version,
            comment=decided.comment,
            by=decided.by,
            at=decided.at,
        )


class ScheduledPublicationView(View):
    version: int
    publish_at: datetime
    by: str


class DraftView(View):
    """An article under review; its text is at `/v1/content/{content_id}/versions/{version}`."""

    content_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    keyword: str
    title: str
    word_count: int
    state: DraftState
    """`waiting` for a person, `scheduled` for a time, `returned` to a model, `rejected`, `approved`, or a `correction` of an
    approved article; `taken_down` from its page."""
    version: int
    """The newest version, which decisions are about."""
    stands: int
    """The version that is in force."""
    made_by: str
    """Who made the newest version."""
    held_for: tuple[str, ...]
    """Why it waits."""
    since: datetime
    """When it began to wait for a person."""
    published_url: str | None
    scheduled: ScheduledPublicationView | None
    """The scheduled publication; it may not be of the newest version."""
    decision: DraftDecisionView | None
    """The latest decision other than an edit."""

    @classmethod
    def of(cls, draft: ReviewedDraft) -> Self:
        return cls(
            content_id=draft.content_id,
            brand_slug=draft.brand_slug,
            keyword=draft.keyword,
            title=draft.title,
            word_count=draft.word_count,
            state=draft.state,
            version=draft.newest,
            stands=draft.stands,
            made_by=draft.newest_by,
            held_for=draft.held_for,
            since=draft.since,
            published_url=draft.published_url,
            scheduled=None
            if draft.appointment is None
            else ScheduledPublicationView(
                version=draft.appointment.version,
                publish_at=draft.appointment.publish_at,
                by=draft.appointment.made_by,
            ),
            decision=None if draft.last is None else DraftDecisionView.of(draft.last),
        )


class DraftList(View):
    items: tuple[DraftView, ...]
    next: UUID | None
    """The `after` of the next page; null on the last page."""


class DecisionList(View):
    items: tuple[DraftDecisionView, ...]
    """Latest first."""


class ReviewMarkView(View):
    brand_slug: str
    looked_at: datetime
