"""The payload of every message type. Messages carry ids; services read the documents by id from their owner."""

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from envelope.message import MASKED, WITHOUT_NUL, HttpUrl, Name, Payload

SLUG_PATTERN: Final = "^[a-z0-9]+(-[a-z0-9]+)*$"
"""Of brands, articles and pages: lower-case letters and digits, joined by single hyphens."""
MAX_BRAND_SLUG: Final = 63
BrandSlug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN, max_length=MAX_BRAND_SLUG)]
Keyword = Annotated[str, StringConstraints(min_length=1, max_length=200), WITHOUT_NUL]
ReasonCode = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]
Detail = Annotated[str, StringConstraints(max_length=2000), WITHOUT_NUL]
MAX_QUESTIONS: Final = 3
"""Open questions of an article that are searched for."""


PostsApproval: TypeAlias = Literal["everything", "nothing"]
"""Which posts need a person's approval before they are sent."""


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class OpenQuestions(Payload):
    """Open questions of an article. Research stores their sources under `answers_id`, where the writer looks for them."""

    answers_id: UUID
    questions: Annotated[tuple[Keyword, ...], Field(min_length=1, max_length=MAX_QUESTIONS)]


class ResearchRequested(Payload):
    """Find and read sources on a keyword. Research from before `not_before` is not reused.

    With `open_questions` of an article on the keyword, find sources on these instead; no event follows.
    """

    brand_slug: BrandSlug
    keyword: Keyword
    priority: Priority = Priority.NORMAL
    not_before: AwareDatetime | None = None
    open_questions: OpenQuestions | None = None


class ResearchCompleted(Payload):
    """Enough sources were found; they can be read under `research_id`."""

    brand_slug: BrandSlug
    research_id: UUID
    keyword: Keyword


class ResearchFailed(Payload):
    """No article can be written on the keyword, and why: `insufficient_sources` is a normal outcome."""

    brand_slug: BrandSlug
    keyword: Keyword
    reason: ReasonCode
    detail: Detail = ""


class ResearchWaiting(Payload):
    """Research on the keyword waits for something outside of it and continues without help, not before `until`."""

    brand_slug: BrandSlug
    keyword: Keyword
    waits_for: Annotated[str, StringConstraints(min_length=1, max_length=200), WITHOUT_NUL]
    detail: Detail = ""
    until: AwareDatetime


class ContentGenerate(Payload):
    """Write the article `content_id` from the sources of `research_id`, or its next version `revision` after a `comment`.

    With `renews`, the text becomes a new version of that article instead.
    """

    brand_slug: BrandSlug
    content_id: UUID
    research_id: UUID
    keyword: Keyword
    revision: Annotated[int, Field(ge=2, lt=2**31)] | None = None
    comment: Annotated[Detail, MASKED] = ""
    renews: UUID | None = None


class ContentGenerated(Payload):
    """The article is written and can be read under `content_id`."""

    brand_slug: BrandSlug
    content_id: UUID
    keyword: Keyword
    word_count: Annotated[int, Field(ge=0)]


class ContentRefused(Payload):
    """No article is published, and why: no draft exists (`insufficient_sources`, `unsupported_draft`), or one `needs_review`.

    Or none is needed, because the article `standing_id` stands: it says the same (`near_duplicate`), or was
    rewritten (`renewed`).
    """

    brand_slug: BrandSlug
    content_id: UUID
    keyword: Keyword
    reason: ReasonCode
    detail: Detail = ""
    standing_id: UUID | None = None


class ContentPublish(Payload):
    """Bring a target up to date with the article's current version; `site` is the brand's built-in site.

    With a `canonical_url`, the article's home is there, and the target names it. Changes made at the target itself
    stay, unless the command says to `overwrite` them.
    """

    brand_slug: BrandSlug
    content_id: UUID
    target: Name
    canonical_url: HttpUrl | None = None
    overwrite: bool = False


class ContentDelete(Payload):
    """Remove the article's page permanently: its address answers 410, and no page of it is published again."""

    brand_slug: BrandSlug
    content_id: UUID


Tag = Annotated[str, StringConstraints(min_length=1, max_length=60), WITHOUT_NUL]
"""A tag of a brand, as its site shows it."""


class Picture(Payload):
    """A public picture of an article; `alt` describes it for people who cannot see it; width and height in pixels.

    `jpeg_url` has it as an upright JPEG, for channels that accept nothing else.
    """

    url: HttpUrl
    alt: Annotated[str, StringConstraints(max_length=1000), WITHOUT_NUL]
    media_type: Annotated[
        str, StringConstraints(pattern=r"^image/[a-z0-9.+-]+$", max_length=100), WITHOUT_NUL
    ]
    width: Annotated[int, Field(ge=1, le=100_000)]
    height: Annotated[int, Field(ge=1, le=100_000)]
    jpeg_url: HttpUrl | None = None


class ContentPublished(Payload):
    """The article is public at `published_url`, in its state `as_of`. Of several messages, the latest state holds.

    `short_link` leads there too and counts visits; it is absent where the address is not public. `tags` are the brand's, those
    that the page shows.
    """

    brand_slug: BrandSlug
    content_id: UUID
    published_url: HttpUrl
    as_of: AwareDatetime | None = None
    target: Name | None = None
    picture: Picture | None = None
    short_link: HttpUrl | None = None
    tags: tuple[Tag, ...] = Field(default=(), max_length=20)


class ContentPublishFailed(Payload):
    """The article cannot be published to `target`, and why."""

    brand_slug: BrandSlug
    content_id: UUID
    target: Name
    reason: ReasonCode
    detail: Detail = ""


class QuotedSource(Payload):
    """A source from which posts quote."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=500), WITHOUT_NUL]
    author: Annotated[
        Annotated[str, StringConstraints(min_length=1, max_length=200), WITHOUT_NUL] | None, MASKED
    ] = None
    licence: Annotated[str, StringConstraints(min_length=1, max_length=200), WITHOUT_NUL] | None = None


class ArticleContext(Payload):
    """The parts of an article that its posts need.

    Of an article that quotes, `origins` has a number for the opening and for each key point: that of its source in `sources`, from 1,
    or 0 for words that no source has.
    """

    title: Annotated[str, StringConstraints(min_length=1, max_length=500), WITHOUT_NUL]
    keyword: Keyword
    meta_description: Annotated[str, StringConstraints(max_length=1000), WITHOUT_NUL]
    key_points: tuple[Annotated[str, StringConstraints(max_length=2000), WITHOUT_NUL], ...] = Field(
        default=(), max_length=20
    )
    opening: Annotated[str, StringConstraints(max_length=2000), WITHOUT_NUL] = ""
    headings: tuple[Annotated[str, StringConstraints(max_length=300), WITHOUT_NUL], ...] = Field(
        default=(), max_length=20
    )
    sources: tuple[QuotedSource, ...] = Field(default=(), max_length=20)
    origins: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(), max_length=21)


class KnownPost(Payload):
    """An announced post: its channel as in `social.create`, and its public address."""

    platform: Name
    post_url: HttpUrl


class SocialCreate(Payload):
    """Create posts about the article on the brand's channels; with `approval` for `everything`, each post waits for a person.

    With a `short_link`, posts lead there, each with its own mark, so that visits are counted by post.

    A command repeated after `social` lost commits lists announced posts as `known_posts`; they are not created again. Other posts may
    have been sent since `asked_since`, so `social` looks for them first.
    """

    brand_slug: BrandSlug
    content_id: UUID
    article_context: ArticleContext
    published_url: HttpUrl | None = None
    brand_name: Annotated[str, StringConstraints(min_length=1, max_length=200), WITHOUT_NUL] | None = None
    channels: tuple[Name, ...] = Field(default=("feed",), max_length=20)
    approval: PostsApproval = "nothing"
    picture: Picture | None = None
    language: Annotated[str, StringConstraints(min_length=1, max_length=35), WITHOUT_NUL] | None = None
    short_link: HttpUrl | None = None
    tags: tuple[Tag, ...] = Field(default=(), max_length=20)
    known_posts: tuple[KnownPost, ...] = Field(default=(), max_length=20)
    asked_since: AwareDatetime | None = None


class LinkRegister(Payload):
    """Count visits of the article's short link with this mark as coming from that post, on an account of that channel."""

    brand_slug: BrandSlug
    content_id: UUID
    post_id: UUID
    channel: Name
    account: Name
    mark: Annotated[str, StringConstraints(pattern=r"^[a-z2-7]{5}$")]


class PostSend(Payload):
    """Take the next step of a post from `social.create`: find its account, or send it."""

    brand_slug: BrandSlug
    content_id: UUID
    post_id: UUID
    channel: Name


class SocialPosted(Payload):
    """The post on one platform is public at `post_url`."""

    brand_slug: BrandSlug
    content_id: UUID
    platform: Name
    post_url: HttpUrl


class SocialFailed(Payload):
    """There is no post on this platform, and why."""

    brand_slug: BrandSlug
    content_id: UUID
    platform: Name
    reason: ReasonCode
    detail: Detail = ""


class BrandErasure(Payload):
    """Base of the commands that erase a brand from one service; repeating an `erasure_id` changes nothing."""

    brand_slug: BrandSlug
    erasure_id: UUID


class ResearchErase(BrandErasure):
    """Remove the brand's research, documents and sources."""


class ContentErase(BrandErasure):
    """Remove the brand's site; its addresses answer 410."""


class SocialErase(BrandErasure):
    """Remove the brand's posts and its feed."""


class DeadLettersErase(BrandErasure):
    """Remove the dead letters of the brand's messages, so that none is replayed."""


class EventsErase(BrandErasure):
    """Remove the brand's events that are kept for others."""


class BrandErased(Payload):
    """`service` has removed the brand's data and ignores late messages about it; `removed` has the numbers by kind."""

    brand_slug: BrandSlug
    erasure_id: UUID
    service: Name
    removed: dict[Name, Annotated[int, Field(ge=0)]] = Field(default={}, max_length=50)
    elsewhere: tuple[Annotated[str, StringConstraints(min_length=1, max_length=300), WITHOUT_NUL], ...] = (
        Field(default=(), max_length=200)
    )
    """Addresses of the brand's content at other sites and networks; at most 200, the newest."""
    elsewhere_count: Annotated[int, Field(ge=0)] = 0
    """Their total number, those without an address included."""


class AuditCompleted(Payload):
    """An audit of a brand has ended; its report can be read under `audit_id`. `findings` has the numbers by kind."""

    brand_slug: BrandSlug
    audit_id: UUID
    findings: dict[Name, Annotated[int, Field(ge=0)]] = Field(default={}, max_length=50)


class CycleCompleted(Payload):
    """Every keyword of a cycle has ended, and none waits for a person. `states` has the numbers; later changes add no event."""

    brand_slug: BrandSlug
    cycle_id: UUID
    state: Name
    total: Annotated[int, Field(ge=0)]
    states: dict[Name, Annotated[int, Field(ge=0)]] = Field(default={}, max_length=50)
    began_at: AwareDatetime
    ended_at: AwareDatetime


class DraftsWaiting(Payload):
    """Drafts or posts of a brand wait for a person since `since`. With `held_up`, the brand is paused until a review."""

    brand_slug: BrandSlug
    drafts: Annotated[int, Field(ge=0)]
    posts: Annotated[int, Field(ge=0)] = 0
    since: AwareDatetime
    held_up: bool = False


class DatabaseFellBack(Payload):
    """A lagging standby or a backup replaced the service's database: commits after `kept_until` may be lost."""

    service: Name
    kept_until: AwareDatetime


class DeadLetterRecorded(Payload):
    """A message became a dead letter of `queue`; brand, keyword, content and target come from its payload, if it has them."""

    dead_event_id: UUID
    queue: Name
    message_type: Annotated[str, StringConstraints(max_length=100), WITHOUT_NUL] | None = None
    reason: ReasonCode
    detail: Detail = ""
    brand_slug: BrandSlug | None = None
    keyword: Keyword | None = None
    content_id: UUID | None = None
    target: Name | None = None
    work_ids: tuple[UUID, ...] = Field(default=(), max_length=20)
    """The pieces of work that the message was about, by `envelope.brand.work`; another command may do them."""


class WorkFinished(Payload):
    """A piece of work is done, so that no dead letter of a message about it needs a replay, if that was sent `covers_until` then.

    `finished_by` is the command that did it, where that is known.
    """

    brand_slug: BrandSlug
    work_id: UUID
    covers_until: AwareDatetime
    finished_at: AwareDatetime
    finished_by: UUID | None = None
