"""The payload of every message type. Messages carry ids; documents are read by id from their owner."""

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from envelope.message import WITHOUT_NUL, HttpUrl, Name, Payload

SLUG_PATTERN: Final = "^[a-z0-9]+(-[a-z0-9]+)*$"
"""Of brands, articles and pages: lower-case letters and digits, joined by single hyphens."""
MAX_BRAND_SLUG: Final = 63
BrandSlug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN, max_length=MAX_BRAND_SLUG)]
Keyword = Annotated[str, StringConstraints(min_length=1, max_length=200), WITHOUT_NUL]
ReasonCode = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]
Detail = Annotated[str, StringConstraints(max_length=2000), WITHOUT_NUL]


PostsApproval: TypeAlias = Literal["everything", "nothing"]
"""Which posts a person sees before they go out."""


class Priority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class ResearchRequested(Payload):
    """Find and read sources on a keyword; research that was made before `not_before` is not used for it."""

    brand_slug: BrandSlug
    keyword: Keyword
    priority: Priority = Priority.NORMAL
    not_before: AwareDatetime | None = None


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
    """Research on the keyword waits for something that is no fault of it, and goes on by itself; nobody looks again before `until`."""

    brand_slug: BrandSlug
    keyword: Keyword
    waits_for: Annotated[str, StringConstraints(min_length=1, max_length=200), WITHOUT_NUL]
    detail: Detail = ""
    until: AwareDatetime


class ContentGenerate(Payload):
    """Write the article `content_id` from the sources of `research_id`; or write it again, as its version `revision`, because of a `comment`.

    What is written with `renews` becomes a version of that article instead.
    """

    brand_slug: BrandSlug
    content_id: UUID
    research_id: UUID
    keyword: Keyword
    revision: Annotated[int, Field(ge=2, lt=2**31)] | None = None
    comment: Detail = ""
    renews: UUID | None = None


class ContentGenerated(Payload):
    """The article is written and can be read under `content_id`."""

    brand_slug: BrandSlug
    content_id: UUID
    keyword: Keyword
    word_count: Annotated[int, Field(ge=0)]


class ContentRefused(Payload):
    """No article is published, and why: there is none (`insufficient_sources`, `unsupported_draft`), or it is stored and waits for a person (`needs_review`).

    Or none is needed, as the article `standing_id` stands: it says the same already (`near_duplicate`), or was written anew (`renewed`).
    """

    brand_slug: BrandSlug
    content_id: UUID
    keyword: Keyword
    reason: ReasonCode
    detail: Detail = ""
    standing_id: UUID | None = None


class ContentPublish(Payload):
    """Bring a target up to date with the article, whatever that says by then; `site` is the brand's built-in site.

    With a `canonical_url`, the article's home is there, and the target names it. What somebody changed at the target is left
    as it is, unless the command says to `overwrite` it.
    """

    brand_slug: BrandSlug
    content_id: UUID
    target: Name
    canonical_url: HttpUrl | None = None
    overwrite: bool = False


class ContentDelete(Payload):
    """Remove the article's page for good: its address answers that it is gone, and no page of it is made any more."""

    brand_slug: BrandSlug
    content_id: UUID


class Picture(Payload):
    """A picture of an article, as it can be fetched by anybody, and `alt`, what it says to those who do not see it; width and height in pixels.

    `jpeg_url` has it as JPEG in upright format, for channels that take nothing else.
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
    """The article can be seen at `published_url`; what is shown there is its state `as_of`. Of two addresses, that of the later state holds.

    `short_link` leads there too, and who follows it is counted; where nobody outside would find it, there is none.
    """

    brand_slug: BrandSlug
    content_id: UUID
    published_url: HttpUrl
    as_of: AwareDatetime | None = None
    target: Name | None = None
    picture: Picture | None = None
    short_link: HttpUrl | None = None


class ContentPublishFailed(Payload):
    """The article cannot be published to `target`, and why."""

    brand_slug: BrandSlug
    content_id: UUID
    target: Name
    reason: ReasonCode
    detail: Detail = ""


class ArticleContext(Payload):
    """What a post needs to know of the article."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=500), WITHOUT_NUL]
    keyword: Keyword
    meta_description: Annotated[str, StringConstraints(max_length=1000), WITHOUT_NUL]
    key_points: tuple[Annotated[str, StringConstraints(max_length=2000), WITHOUT_NUL], ...] = Field(
        default=(), max_length=20
    )


class KnownPost(Payload):
    """A post that was announced: its channel as `social.create` called it, and where it can be seen."""

    platform: Name
    post_url: HttpUrl


class SocialCreate(Payload):
    """Tell the brand's channels about the article; with `approval` for `everything`, once a person has seen each post.

    With a `short_link`, posts elsewhere lead there, each with its mark behind it, so that who comes from where is counted.

    A command that asks again after `social` has lost commits names the posts that were announced as `known_posts`: these are not made again.
    Of the others something may be out since `asked_since`, and is looked for first.
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
    known_posts: tuple[KnownPost, ...] = Field(default=(), max_length=20)
    asked_since: AwareDatetime | None = None


class LinkRegister(Payload):
    """Count who follows the article's short link with this mark behind it as coming from that post, on an account of that channel."""

    brand_slug: BrandSlug
    content_id: UUID
    post_id: UUID
    channel: Name
    account: Name
    mark: Annotated[str, StringConstraints(pattern=r"^[a-z2-7]{5}$")]


class PostSend(Payload):
    """Bring a post one step on its way to a channel elsewhere, as `social.create` called it: find its account, or send it."""

    brand_slug: BrandSlug
    content_id: UUID
    post_id: UUID
    channel: Name


class SocialPosted(Payload):
    """The post on one platform can be seen at `post_url`."""

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
    """Of every command to remove all that a service has of a brand; the same `erasure_id` again changes nothing, and is answered alike."""

    brand_slug: BrandSlug
    erasure_id: UUID


class ResearchErase(BrandErasure):
    """Remove the brand's research, documents and sources."""


class ContentErase(BrandErasure):
    """Remove the brand's site; its addresses answer that they are gone."""


class SocialErase(BrandErasure):
    """Remove the brand's posts and its feed."""


class DeadLettersErase(BrandErasure):
    """Remove the dead letters of the brand's messages, so that none is sent again."""


class BrandErased(Payload):
    """`service` has removed what it had of the brand, and drops what comes late; `removed` says how many of what."""

    brand_slug: BrandSlug
    erasure_id: UUID
    service: Name
    removed: dict[Name, Annotated[int, Field(ge=0)]] = Field(default={}, max_length=50)
    elsewhere: tuple[Annotated[str, StringConstraints(min_length=1, max_length=300), WITHOUT_NUL], ...] = (
        Field(default=(), max_length=200)
    )
    """What the brand still has on sites and accounts of others, by address; of more than 200, those that are newest."""
    elsewhere_count: Annotated[int, Field(ge=0)] = 0
    """How many there are, those without an address included."""


class AuditCompleted(Payload):
    """A brand was looked over; the report can be read under `audit_id`. `findings` has how many there are of each kind."""

    brand_slug: BrandSlug
    audit_id: UUID
    findings: dict[Name, Annotated[int, Field(ge=0)]] = Field(default={}, max_length=50)


class CycleCompleted(Payload):
    """Every keyword of a cycle has ended, and none waits for a person. `states` has how many ended in which state; what moves again later is not told again."""

    brand_slug: BrandSlug
    cycle_id: UUID
    state: Name
    total: Annotated[int, Field(ge=0)]
    states: dict[Name, Annotated[int, Field(ge=0)]] = Field(default={}, max_length=50)
    began_at: AwareDatetime
    ended_at: AwareDatetime


class DraftsWaiting(Payload):
    """Drafts or posts of a brand wait for a person, the oldest `since` then; `held_up`: until somebody looks, nothing more is begun for it."""

    brand_slug: BrandSlug
    drafts: Annotated[int, Field(ge=0)]
    posts: Annotated[int, Field(ge=0)] = 0
    since: AwareDatetime
    held_up: bool = False


class DatabaseFellBack(Payload):
    """A standby that was behind, or a backup, has taken the place of the service's database: what was committed after `kept_until` may be gone."""

    service: Name
    kept_until: AwareDatetime


class DeadLetterRecorded(Payload):
    """A message ended as a dead letter of `queue`; brand, keyword, content and target as far as its payload names them."""

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
