"""What the API takes and gives of posts. Every refusal is a sentence that says what to do."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from chassis.http.api import View, in_utc
from social.cutting import clean_line
from social.review.domain import (
    MAX_COMMENT,
    MAX_TEXT,
    PendingPost,
    PostDecision,
    PostDecisionKind,
    PostState,
    counts,
)
from social.urls import FeedUrls


def _line(text: str) -> str:
    return clean_line(text)


def _telling(text: str) -> str:
    line = clean_line(text)
    if not line:
        raise ValueError("is blank; fill it in")
    return line


def _without_nul(text: str) -> str:
    return text.replace("\x00", "")


Version = Annotated[int, Field(ge=1, le=2**31 - 1, examples=[1])]
"""The one that was looked at; it must be the newest."""
Comment = Annotated[str, Field(max_length=MAX_COMMENT), AfterValidator(_line)]
Reason = Annotated[str, Field(min_length=1, max_length=MAX_COMMENT), AfterValidator(_telling)]


class _ReviewBody(BaseModel):
    """Takes no field that it does not know: a misspelt one would be lost without a word."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class ApprovePostRequest(_ReviewBody):
    """Says yes to exactly this version."""

    version: Version
    publish_at: Annotated[
        Annotated[AwareDatetime, AfterValidator(in_utc)] | None, Field(examples=["2027-03-01T09:00:00+01:00"])
    ] = None
    """Not before this time, which names its offset; left out: in the next free slot of its account, or now if that has none. Said again
    with another time, it is moved."""
    now: bool = False
    """Without waiting for a slot; behind the post before it on the account by as much as its posts are apart."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.now and self.publish_at is not None:
            raise ValueError("either now or publish_at; leave one of them out")
        return self


class EditPostRequest(_ReviewBody):
    version: Version
    text: Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_without_nul)]
    """What it is to say, within the rules of its channel; the link and the hashtags stand beside it."""
    comment: Comment = ""
    """Why; kept with the decision."""


class RejectPostRequest(_ReviewBody):
    version: Version
    reason: Reason
    """Kept with the decision, and shown with the keyword."""


class TextCountView(View):
    unit: Annotated[str, Field(examples=["characters"])]
    used: int
    maximum: int


class PostDecisionView(View):
    decision: PostDecisionKind
    version: int
    comment: str
    by: str
    at: datetime

    @classmethod
    def of(cls, decided: PostDecision) -> Self:
        return cls(
            decision=decided.kind,
            version=decided.version,
            comment=decided.comment,
            by=decided.by,
            at=decided.at,
        )


class PostView(View):
    """A post as those see it who decide about it."""

    post_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    content_id: UUID
    channel: Annotated[str, Field(examples=["feed"])]
    state: PostState
    """`waiting` for a person, `scheduled` to be posted at a time, `posted` or `rejected`; on another platform also `sending`, `failed`,
    `in_doubt` or `called_off`."""
    version: int
    title: str
    """Of the article."""
    text: str
    tags: tuple[str, ...]
    link: str | None
    """Where it leads."""
    counts: tuple[TextCountView, ...]
    """How long the text is by the rules of its channel."""
    since: datetime
    """When it began to wait."""
    publish_at: datetime | None
    """When it is posted, if it was approved for a time."""
    post_url: str | None
    """Where it can be seen, once it is posted."""
    decision: PostDecisionView | None
    """The latest."""
    account: str | None = None
    """The gateway's account that it is for, once that is known; null: the built-in feed."""
    reason: str = ""
    """Why it is not out (yet), for programs; empty if nothing went wrong."""
    detail: str = ""
    """The same for people, with what to do."""
    retry_at: datetime | None = None
    """When it is tried next."""

    @classmethod
    def of(cls, pending: PendingPost, urls: FeedUrls) -> Self:
        post, sent = pending.post, pending.sent
        address = sent.post_url if sent else urls.absolute(urls.post(post.brand_slug, post.post_id))
        return cls(
            post_id=post.post_id,
            brand_slug=post.brand_slug,
            content_id=post.content_id,
            channel=post.channel,
            state=pending.state,
            version=pending.version,
            title=post.title,
            text=post.text,
            tags=post.tags,
            link=post.link,
            counts=tuple(
                TextCountView(unit=each.unit, used=each.used, maximum=each.maximum)
                for each in counts(post.channel, post.text)
            ),
            since=pending.since,
            publish_at=pending.publish_at,
            post_url=address if pending.state is PostState.POSTED else None,
            decision=None if pending.last is None else PostDecisionView.of(pending.last),
            account=sent.account if sent else None,
            reason=sent.reason if sent else "",
            detail=sent.detail if sent else "",
            retry_at=(sent.retry_at or sent.held_until) if sent else None,
        )


class PostList(View):
    items: tuple[PostView, ...]
    next: int | None
    """The `after` of the page behind this one; null on the last."""


class PostDecisionList(View):
    items: tuple[PostDecisionView, ...]
    """The latest first."""
