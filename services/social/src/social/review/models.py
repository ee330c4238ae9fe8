"""Requests and answers of the HTTP API for the review of posts."""

from datetime import datetime
from typing import Annotated, Final, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from chassis.http.api import View, in_utc
from review.decisions import MAX_COMMENT
from review.rules import PostState
from social.cutting import clean_line
from social.review.domain import PendingPost, PostDecisionKind
from social.review.texts import counts
from social.urls import FeedUrls

MAX_TEXT: Final = 10_000
"""Most characters in a request; channels allow fewer."""


def _telling(text: str) -> str:
    line = clean_line(text)
    if not line:
        raise ValueError("is blank; fill it in")
    return line


def _without_nul(text: str) -> str:
    return text.replace("\x00", "")


Version = Annotated[int, Field(ge=1, le=2**31 - 1, examples=[1])]
"""The reviewed version; it must be the newest."""
Comment = Annotated[str, Field(max_length=MAX_COMMENT), AfterValidator(clean_line)]
Reason = Annotated[str, Field(min_length=1, max_length=MAX_COMMENT), AfterValidator(_telling)]


class _ReviewBody(BaseModel):
    """Refuses unknown fields, so that a misspelt one causes an error."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class ApprovePostRequest(_ReviewBody):
    """Approves exactly this version."""

    version: Version
    publish_at: Annotated[
        Annotated[AwareDatetime, AfterValidator(in_utc)] | None, Field(examples=["2027-03-01T09:00:00+01:00"])
    ] = None
    """Publishes at this time, which needs an offset; omitted: in the account's next free slot, or now without slots. A later
    approval with another time moves the post."""
    now: bool = False
    """Publishes without a slot, but keeps the account's distance to the post before."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.now and self.publish_at is not None:
            raise ValueError("either now or publish_at; leave one of them out")
        return self


class EditPostRequest(_ReviewBody):
    version: Version
    text: Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_without_nul)]
    """The new text within the limits of its channel; the feed shows link and hashtags separately."""
    comment: Comment = ""
    """Why; stored with the decision."""


class CountPostTextRequest(_ReviewBody):
    """A text that is not stored."""

    text: Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_without_nul)]
    """What the post could say."""


class RejectPostRequest(_ReviewBody):
    version: Version
    reason: Reason
    """Stored with the decision, and shown with the keyword."""


class TextCountView(View):
    unit: Annotated[str, Field(examples=["characters"])]
    used: int
    maximum: int


class PostTextCounts(View):
    counts: tuple[TextCountView, ...]
    """Length of the text by each limit of the post's channel."""


class PostDecisionView(View):
    decision: PostDecisionKind
    version: int
    comment: str
    by: str
    at: datetime


class PostView(View):
    """A post under review, or a decided one."""

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
    """The address of the article."""
    counts: tuple[TextCountView, ...]
    """Length of the text by each limit of its channel."""
    since: datetime
    """Start of its wait."""
    publish_at: datetime | None
    """Time of publication, if it was approved for one."""
    post_url: str | None
    """Its address, once it is posted."""
    decision: PostDecisionView | None
    """The latest decision."""
    account: str | None = None
    """The account at the gateway, once known; null for the built-in feed."""
    reason: str = ""
    """Code of why it is not out; empty without a problem."""
    detail: str = ""
    """The same for people, with what to do."""
    retry_at: datetime | None = None
    """Time of the next attempt."""

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
            counts=tuple(map(TextCountView.from_row, counts(post.channel, post.text))),
            since=pending.since,
            publish_at=pending.publish_at,
            post_url=address if pending.state is PostState.POSTED else None,
            decision=None if pending.last is None else PostDecisionView.from_row(pending.last),
            account=sent.account if sent else None,
            reason=sent.reason if sent else "",
            detail=sent.detail if sent else "",
            retry_at=(sent.retry_at or sent.held_until) if sent else None,
        )


class PostList(View):
    items: tuple[PostView, ...]
    next: int | None
    """`after` of the next page; null on the last."""


class PostDecisionList(View):
    items: tuple[PostDecisionView, ...]
    """The latest first."""
