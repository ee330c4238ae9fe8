"""A brand's rows for an archive, and from one.

Nothing is posted because of an import: what is out stays out, and what was planned or under way waits for a person.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from chassis.links import public_link
from messaging.brand_parts import BrandPart, CopiedRow, Dependent
from social.calendar import RepeatsRequest, SlotsRequest

MOVED: Final = "moved"
"""The reason code of a post that was under way when its brand moved."""
_MAX_DAYS: Final = 20_000


def _is_link(address: str) -> str:
    if public_link(address) is None:
        raise ValueError("must be a web address such as https://example.com/guide")
    return address


_Line = Annotated[str, Field(max_length=2_000)]
_Title = Annotated[str, Field(min_length=1, max_length=2_000)]
_Text = Annotated[str, Field(max_length=100_000)]
_Lines = Annotated[tuple[_Line, ...], Field(max_length=200)]
_Link = Annotated[str, Field(max_length=2_000), AfterValidator(_is_link)]
_Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


class StorySourceRow(CopiedRow):
    """A source from which an article quotes, as the columns `story` and `material` have it."""

    title: _Line
    author: _Line | None = None
    licence: _Line | None = None


class StoryRow(CopiedRow):
    """The texts of an article for posts, as the column `story` has them."""

    title: _Line
    keyword: _Line
    description: _Line
    points: _Lines
    tags: _Lines
    link: _Link | None
    opening: _Text = ""
    headings: _Lines = ()
    sources: Annotated[tuple[StorySourceRow, ...], Field(max_length=1_000)] = ()
    origins: Annotated[tuple[int, ...], Field(max_length=1_000)] = ()
    language: _Line | None = None


class PictureRow(CopiedRow):
    """A picture of a post, as the column `material` has it."""

    url: _Link
    alt: _Line
    media_type: _Line
    width: _Count
    height: _Count
    jpeg_url: _Link | None = None


class MaterialRow(StoryRow):
    """What there is to say, as the column `material` has it."""

    pictures: Annotated[tuple[PictureRow, ...], Field(max_length=20)]
    language: _Line | None
    short_link: _Link | None = None
    article_link: _Link | None = None


class FeedAccountRow(CopiedRow):
    channel: _Line
    display_name: _Title
    created_at: datetime


class FeedPostRow(CopiedRow):
    """A post in the built-in feed."""

    post_id: UUID
    content_id: UUID
    channel: _Line
    title: _Title
    text: _Text
    tags: _Lines
    link: _Link | None
    posted_at: datetime
    story: StoryRow | None


class PostDecisionRow(CopiedRow):
    version: _Count
    decision: Literal["approved", "scheduled", "called_off", "edited", "rejected"]
    comment: _Text
    text: _Text | None
    made_by: _Line
    made_at: datetime


class PendingPostRow(CopiedRow):
    """A post for the built-in feed that a person sees first."""

    post_id: UUID
    display_name: _Line
    content_id: UUID
    channel: _Line
    asked_as: _Lines
    correlation_id: _Line | None
    title: _Title
    text: _Text
    tags: _Lines
    link: _Link | None
    version: _Count
    state: Literal["waiting", "posted", "rejected"]
    publish_at: datetime | None
    since: datetime
    story: StoryRow | None
    post_decisions: Annotated[tuple[PostDecisionRow, ...], Field(max_length=1_000)] = ()


class ReceptionRow(CopiedRow):
    day: date
    likes: _Count | None
    shares: _Count | None
    replies: _Count | None


class ChannelPostRow(CopiedRow):
    """A post on an account of a network."""

    post_id: UUID
    content_id: UUID
    asked_as: _Line
    entry: _Line
    occurrence: _Count
    correlation_id: _Line | None
    material: MaterialRow
    channel: _Line | None
    account: _Line | None
    text: _Text | None
    tags: _Lines
    placement: Literal["in_text", "first_comment", "none"]
    version: _Count
    state: Literal[
        "new", "waiting", "planned", "sending", "posted", "failed", "in_doubt", "called_off", "rejected"
    ]
    due_at: datetime | None
    begun_at: datetime | None
    reason: _Line
    detail: _Text
    post_url: _Link | None
    posted_at: datetime | None
    since: datetime
    in_queue: bool
    moves: _Count
    moved_at: datetime | None
    repeats: Literal["evergreen", "recurring"] | None
    has_metrics: bool
    approval: _Line
    channel_post_decisions: Annotated[tuple[PostDecisionRow, ...], Field(max_length=1_000)] = ()
    reach: Annotated[tuple[ReceptionRow, ...], Field(max_length=_MAX_DAYS)] = ()


class ChannelRulesRow(CopiedRow):
    channel: _Line
    link: Literal["in_text", "first_comment", "none"] | None
    hashtags: _Lines
    most_tags: Annotated[int, Field(ge=0, le=30)] | None
    reach: bool
    changed_at: datetime


def _are_slots(rules: Mapping[str, Any]) -> Mapping[str, Any]:
    SlotsRequest.model_validate(rules)
    return rules


def _is_repetition(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    RepeatsRequest.model_validate(rule)
    return rule


class PostingRulesRow(CopiedRow):
    account: _Line
    rules: Annotated[Mapping[str, Any], AfterValidator(_are_slots)]
    updated_at: datetime


class RepeatsRow(CopiedRow):
    content_id: UUID
    account: _Line
    rule: Annotated[Mapping[str, Any], AfterValidator(_is_repetition)]
    made_by: _Line
    made_at: datetime


def arriving_feed_post(post: PendingPostRow) -> PendingPostRow:
    """A planned post waits for a person again."""
    return post.model_copy(update={"publish_at": None}) if post.state == "waiting" else post


def arriving_channel_post(post: ChannelPostRow) -> ChannelPostRow:
    """A post that is not out waits for a person; one that may be out has failed, so that nothing is posted twice."""
    match post.state:
        case "waiting" | "planned" if post.text is not None:
            changes = {"state": "waiting", "approval": "everything", "in_queue": False, "begun_at": None}
            return post.model_copy(update=changes)
        case "new" | "waiting" | "planned":
            detail = "The brand moved to another installation before its text was made."
            return post.model_copy(
                update={"state": "failed", "reason": MOVED, "detail": detail, "in_queue": False}
            )
        case "sending" | "in_doubt":
            detail = "The brand moved while this was sent. Look at the account before you post it again."
            return post.model_copy(
                update={"state": "failed", "reason": MOVED, "detail": detail, "in_queue": False}
            )
        case _:
            return post


def moving_channel_post(post: ChannelPostRow) -> ChannelPostRow:
    """A post of a brand that moves keeps its time; one that may be out has failed, so that nothing is posted twice."""
    if post.state in {"waiting", "planned"} and post.text is not None:
        return post.model_copy(update={"begun_at": None})
    return arriving_channel_post(post)


PARTS: Final[tuple[BrandPart[Any], ...]] = (
    BrandPart("feeds", "accounts", FeedAccountRow, key=("channel",)),
    BrandPart("feed-posts", "posts", FeedPostRow, key=("post_id",), order=("posted_at", "post_id")),
    BrandPart(
        "pending-posts",
        "pending_posts",
        PendingPostRow,
        key=("post_id",),
        order=("number",),
        dependents={"post_decisions": Dependent("post_decisions", ("post_id",), "decision_id")},
        adjust=arriving_feed_post,
    ),
    BrandPart(
        "channel-posts",
        "channel_posts",
        ChannelPostRow,
        key=("post_id",),
        order=("number",),
        dependents={
            "channel_post_decisions": Dependent("channel_post_decisions", ("post_id",), "decision_id"),
            "reach": Dependent("reach", ("post_id",), "day"),
        },
        adjust=arriving_channel_post,
    ),
    BrandPart("channel-rules", "channel_rules", ChannelRulesRow, key=("channel",)),
    BrandPart("posting-rules", "posting_rules", PostingRulesRow, key=("account",)),
    BrandPart("repeats", "repeats", RepeatsRow, key=("content_id", "account")),
)

_MOVING: Final = {"pending-posts": None, "channel-posts": moving_channel_post}
MOVING_PARTS: Final[tuple[BrandPart[Any], ...]] = tuple(
    replace(part, adjust=_MOVING.get(part.name, part.adjust)) for part in PARTS
)
"""Those of a brand that moves: what is planned goes out at its time, once the brand is resumed."""
