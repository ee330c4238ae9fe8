"""API bodies and views of versions and drafts. Each refusal says what to do."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field

from chassis.http.api import View, in_utc
from envelope.brand.article import ArticleEdit, ArticleText
from envelope.brand.texts import not_blank, prose
from orchestrator.article_workflow import MAX_VERSION, CutSentenceView, MeasureView, SourceView, Version
from orchestrator.requests import RequestBody
from orchestrator.review.domain import DraftDecisionKind
from review.decisions import MAX_COMMENT
from review.rules import DraftState

VersionNumber = Annotated[int, Field(ge=1, le=MAX_VERSION, examples=[1])]
Comment = Annotated[str, Field(max_length=MAX_COMMENT), AfterValidator(prose)]


def _telling(text: str) -> str:
    not_blank(" ".join(text.split()))
    return text


Reason = Annotated[
    str, Field(min_length=1, max_length=MAX_COMMENT), AfterValidator(prose), AfterValidator(_telling)
]


class VersionSummaryView(View):
    version: Annotated[int, Field(ge=1, examples=[2])]
    title: str
    word_count: int
    made_by: Annotated[str, Field(examples=["writer"])]
    """`writer`, or the name of the key that edited it."""
    why: Annotated[str, Field(examples=["written from research"])]
    made_at: datetime


class VersionList(View):
    items: tuple[VersionSummaryView, ...]
    next: int | None
    """The `after` of the next page; null on the last page."""
    stands: int
    """The version that `GET /v1/content/{content_id}` shows: the newest of a waiting draft, else the approved one."""


class VersionOrigin(VersionSummaryView):
    content_id: UUID


class VersionView(ArticleText, VersionOrigin):
    slug: str
    """The requested last part of its address."""
    sources: tuple[SourceView, ...]
    measures: tuple[MeasureView, ...]

    @classmethod
    def of_version(cls, content_id: UUID, version: Version) -> Self:
        shown = {**dict(version.text), "measures": tuple(map(MeasureView.of, version.text.measures))}
        return cls(**VersionSummaryView.from_row(version).model_dump() | shown, content_id=content_id)


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
    comment: Reason
    """The changes that the model should make."""


class RejectDraftBody(RequestBody):
    version: VersionNumber
    """The reviewed version; it must be the newest."""
    reason: Reason
    """Stored with the decision, and shown with the keyword."""


class TakeDownBody(RequestBody):
    reason: Reason
    """Stored with the decision, and shown with the keyword and its posts."""


class DeleteArticleBody(RequestBody):
    reason: Reason
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


class EditedVersion(RequestBody):
    version: VersionNumber
    """The edited version; it must be the newest."""


class EditDraftBody(ArticleEdit, EditedVersion):
    """The next version; fields left out stay as they are."""

    comment: Comment = ""
    """The reason, stored with the version."""


class KeepSentenceBody(EditedVersion):
    """Puts a sentence that the checks cut back, in the name of the caller."""

    number: Annotated[int, Field(ge=1, le=MAX_VERSION, examples=[1])]
    """The sentence, as `cuts` of `GET /v1/drafts/{content_id}` number them."""
    comment: Comment = ""
    """The reason, stored with the version."""


class DraftDecisionView(View):
    decision: DraftDecisionKind
    version: int
    comment: str
    by: str
    at: datetime


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


class EditReadingView(View):
    """How far a judge is with the sentences that a person changed."""

    state: Literal["waiting", "done", "failed"]
    waits_for: str | None
    """Why the judge is not asked right now; null if it is."""
    problem: str | None
    """Why it found nothing, if it failed; the rules' verdicts stay."""


class DraftDetails(DraftView):
    reading: EditReadingView | None
    """Of the newest version; null if no judge reads it."""
    cuts: tuple[CutSentenceView, ...]
    """What its model wrote and the checks cut from the newest version, in order, with those that an editor keeps. Empty for a
    digest."""
    before: UUID | None
    """The draft before it in the list of its brand's drafts; null: none is open there."""
    following: UUID | None
    """The draft after it, likewise."""


class DraftList(View):
    items: tuple[DraftView, ...]
    next: UUID | None
    """The `after` of the next page; null on the last page."""


class DraftCount(View):
    count: int
    is_exact: bool
    """False if there are more than are counted."""


class DecisionList(View):
    items: tuple[DraftDecisionView, ...]
    """Latest first."""


class ReviewMarkView(View):
    brand_slug: str
    looked_at: datetime
