"""What becomes of a post on another platform, and what it says. Pure: no I/O, no clock, no randomness."""

from base64 import b32encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import regex

from envelope.brand.payloads import SocialCreate
from social.channels import CHANNELS, Channel, ChannelSender, ComposedPost, Facet, Placement, PostPicture
from social.counting import utf8_bytes
from social.cutting import hashtag
from social.domain import (
    BrandSlug,
    LinkTooLongError,
    PostId,
    PostRefusal,
    Story,
    compose,
    is_web_address,
    post_id,
    story_of,
)

EVERYTHING: Final = "everything"
_LINK = regex.compile(r"https?://[^\s<>\"]+[^\s<>\".,;:!?)\]}'’”]")  # noqa: RUF001
_TAG = regex.compile(r"(?<![\p{L}\p{N}_&/#])#([\p{L}\p{M}\p{N}_]*\p{L}[\p{L}\p{M}\p{N}_]*)")


class ChannelPostState(StrEnum):
    NEW = "new"
    """Nobody has looked yet which account it is for."""
    WAITING = "waiting"
    """For a person."""
    PLANNED = "planned"
    """It goes out when it is due."""
    SENDING = "sending"
    POSTED = "posted"
    FAILED = "failed"
    """It is tried again when somebody asks for it."""
    IN_DOUBT = "in_doubt"
    """It may be out; a person has to look."""
    CALLED_OFF = "called_off"
    """Its article is gone."""
    REJECTED = "rejected"


ENDED: Final = frozenset(
    {
        ChannelPostState.POSTED,
        ChannelPostState.FAILED,
        ChannelPostState.IN_DOUBT,
        ChannelPostState.CALLED_OFF,
        ChannelPostState.REJECTED,
    }
)


@dataclass(frozen=True, slots=True)
class PostMaterial:
    """What there is to say of an article, and to show."""

    story: Story
    """Its link is where the post leads: the article's own address, or by then the post's short link."""
    pictures: tuple[PostPicture, ...]
    language: str | None
    short_link: str | None = None
    """The article's, if posts are to lead there by short links."""
    article_link: str | None = None
    """The article's own address, where the post has a short link."""

    @property
    def article(self) -> str | None:
        """The article's own address."""
        return self.article_link or self.story.link

    def leading_by(self, mark: str) -> "PostMaterial":
        """The same with the short link of the post that has this mark, if it is to have one."""
        if self.short_link is None or self.story.link is None:
            return self
        story = replace(self.story, link=f"{self.short_link}{mark}")
        return replace(self, story=story, article_link=self.article)

    def as_json(self) -> dict[str, Any]:
        pictures = [asdict(each) for each in self.pictures]
        links = {"short_link": self.short_link, "article_link": self.article_link}
        return {**self.story.as_json(), "pictures": pictures, "language": self.language, **links}

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "PostMaterial":
        return cls(
            story=Story.of_json(stored),
            pictures=tuple(PostPicture(**each) for each in stored["pictures"]),
            language=stored["language"],
            short_link=stored.get("short_link"),
            article_link=stored.get("article_link"),
        )

    @classmethod
    def of(cls, command: SocialCreate) -> "PostMaterial":
        shown = command.picture
        picture = (
            ()
            if shown is None
            else (
                PostPicture(
                    url=shown.url,
                    alt=shown.alt,
                    media_type=shown.media_type,
                    width=shown.width,
                    height=shown.height,
                    jpeg_url=shown.jpeg_url,
                ),
            )
        )
        short = command.short_link
        return cls(
            story_of(command), picture, command.language, short if short and is_web_address(short) else None
        )


def mark_of(post_id: UUID) -> str:
    """What stands behind the short link of its article in a post: five characters, the same each time."""
    return b32encode(post_id.bytes).decode()[:5].lower()


@dataclass(frozen=True, slots=True)
class ChannelRules:
    """What a brand wants of its posts on a channel; None: as is usual there. Hashtags are without their #."""

    link: Placement | None = None
    hashtags: tuple[str, ...] = ()
    most_tags: int | None = None
    reach: bool = False
    """Whether the platform is asked how they are received."""


@dataclass(frozen=True, slots=True)
class SendingAccount:
    """One at the gateway, that the brand may use."""

    name: str
    kind: str
    state: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class PostTime:
    """When a post goes out; None: now. `in_queue`: that is a slot of its account, which may become another post's."""

    due_at: datetime | None = None
    in_queue: bool = False


@dataclass(frozen=True, slots=True)
class NewChannelPost:
    """A post that a command asks for."""

    post_id: PostId
    brand_slug: BrandSlug
    content_id: UUID
    asked_as: str
    entry: str
    correlation_id: str | None
    material: PostMaterial
    approval: str
    posted_as: str | None = None
    """Where it can be seen, if it was announced before the database lost its row."""
    asked_since: datetime | None = None
    """It may be out since then, under a row that the database has lost; None: it is not."""


@dataclass(frozen=True, slots=True)
class ChannelText:
    """What is said on a channel."""

    text: str
    tags: tuple[str, ...]
    placement: Placement


@dataclass(frozen=True, slots=True)
class ChannelPost:
    """A post on another platform. What stands beside the columns is told in the migration."""

    post_id: PostId
    number: int
    brand_slug: BrandSlug
    content_id: UUID
    asked_as: str
    entry: str
    occurrence: int
    correlation_id: str | None
    material: PostMaterial
    approval: str
    channel: str | None
    account: str | None
    text: str | None
    tags: tuple[str, ...]
    placement: Placement
    version: int
    state: ChannelPostState
    due_at: datetime | None
    held_until: datetime | None
    retry_at: datetime | None
    begun_at: datetime | None
    reason: str
    detail: str
    ended_by: UUID | None
    post_url: str | None
    posted_at: datetime | None
    since: datetime
    may_be_out_since: datetime | None = None


def entry_of(name: str) -> str:
    """What makes two names of a channel the same."""
    return name.strip().casefold()


def new_posts(
    command: SocialCreate,
    names: Sequence[str],
    correlation_id: str | None,
    *,
    lost_until: datetime | None = None,
) -> list[NewChannelPost]:
    """One for each channel; two spellings of a name are one.

    `lost_until`: when the database was last found to have lost rows; None: it has lost none.
    """
    material = PostMaterial.of(command)
    known = {entry_of(post.platform): post.post_url for post in command.known_posts}
    asked_since = command.asked_since
    if asked_since is not None and (lost_until is None or lost_until < asked_since):
        asked_since = None  # a post that is not there was not made
    by_entry = {entry_of(name): name for name in reversed(names)}
    return [
        NewChannelPost(
            post_id=post_id(command.content_id, entry),
            brand_slug=BrandSlug(command.brand_slug),
            content_id=command.content_id,
            asked_as=name,
            entry=entry,
            correlation_id=correlation_id,
            material=material,
            approval=command.approval,
            posted_as=known.get(entry),
            asked_since=asked_since,
        )
        for entry, name in reversed(by_entry.items())
    ]


def account_for(entry: str, accounts: Sequence[SendingAccount]) -> SendingAccount | PostRefusal:
    """The account that a channel's name means: the one of that name, or the only one of that kind."""
    named = next((each for each in accounts if entry_of(each.name) == entry), None)
    if named is not None:
        return named if way_out(named.kind) else _unknown(entry)
    of_kind = [each for each in accounts if each.kind == entry and way_out(each.kind)]
    if len(of_kind) == 1:
        return of_kind[0]
    if of_kind:
        names = ", ".join(sorted(each.name for each in of_kind))
        return PostRefusal(
            "channel_ambiguous",
            f"several {CHANNELS[entry].label} accounts are connected: name one of them as the channel: {names}",
        )
    if entry in CHANNELS:
        return PostRefusal(
            "channel_not_connected",
            f"no {CHANNELS[entry].label} account is connected for this brand, so nothing was posted there;"
            f" connect one: brandctl accounts connect {entry}",
        )
    return _unknown(entry)


def _unknown(entry: str) -> PostRefusal:
    known = ", ".join(CHANNELS)
    return PostRefusal(
        "unknown_channel",
        f"there is no channel “{entry}”, and no account of that name to post with; choose among: {known}",
    )


def way_out(kind: str) -> ChannelSender | None:
    """How posts go out on a channel; None if they do not."""
    channel = CHANNELS.get(kind)
    return None if channel is None else channel.sending


def said(channel: Channel, material: PostMaterial, rules: ChannelRules) -> ChannelText | PostRefusal:
    """What is said about an article on a channel, as the brand wants it."""
    assert channel.sending is not None
    if channel.sending.needs_picture and not material.pictures:
        return PostRefusal(
            "needs_picture", f"{channel.label} takes no post without a picture, and the article has none"
        )
    placements = channel.sending.placements
    placement = rules.link if rules.link in placements else placements[0]
    most = channel.hashtags if rules.most_tags is None else rules.most_tags
    own = filter(None, (hashtag(each) for each in rules.hashtags))
    tags = tuple({tag.casefold(): tag for tag in reversed((*own, *material.story.tags))}.values())[::-1]
    story = replace(material.story, tags=tags, link=material.story.link if placement == "in_text" else None)
    try:
        draft = compose(replace(channel, hashtags=most), story)
    except LinkTooLongError:
        return PostRefusal(
            "link_too_long", f"the article's address alone is longer than {channel.label} allows a post to be"
        )
    return ChannelText(draft.text, tuple(tag for tag in tags[:most] if tag in draft.text), placement)


def composed(post: ChannelPost) -> ComposedPost:
    """What goes out."""
    assert post.text is not None
    story = post.material.story
    return ComposedPost(
        post_id=post.post_id,
        brand_slug=post.brand_slug,
        content_id=post.content_id,
        title=story.title,
        description=story.description,
        text=post.text,
        link=story.link,
        placement=post.placement,
        facets=facets(post.text, story.link, post.tags, edited=post.version > 1),
        hashtags=post.tags,
        pictures=post.material.pictures,
        language=post.material.language,
    )


def facets(text: str, link: str | None, tags: Sequence[str], *, edited: bool) -> tuple[Facet, ...]:
    """The links and hashtags of a text: of what a person wrote all of them, else those that we put there, at its end."""
    found: list[tuple[int, str, str, str]] = []
    if edited:
        found += [(each.start(), each[0], "link", each[0]) for each in _LINK.finditer(text)]
        found += [(each.start(), each[0], "tag", each[1]) for each in _TAG.finditer(text)]
    else:
        end = len(text)
        for tag in reversed(tags):
            if (start := text.rfind(tag, 0, end)) >= 0:
                found.append((start, tag, "tag", tag[1:]))
                end = start
        if link and (start := text.rfind(link, 0, end)) >= 0:
            found.append((start, link, "link", link))
    return tuple(
        Facet(offset := utf8_bytes(text[:start]), offset + utf8_bytes(part), kind, target)
        for start, part, kind, target in _apart(sorted(found))
    )


def _apart(found: Sequence[tuple[int, str, str, str]]) -> Sequence[tuple[int, str, str, str]]:
    """Those that do not begin within another: `#part` of an address is no hashtag."""
    kept: list[tuple[int, str, str, str]] = []
    for each in found:
        if not kept or each[0] >= kept[-1][0] + len(kept[-1][1]):
            kept.append(each)
    return kept


def but_out(why: PostRefusal, address: str | None) -> PostRefusal:
    """Of a post whose first step went out, at that address, and of which a later one, such as a comment, was refused."""
    if address is None:
        return why
    return PostRefusal(
        why.reason, f"the post is out at {address}, and what was to follow it is not: {why.detail}"
    )


NEEDS_REVIEW: Final = "needs_review"
"""The reason of `social.failed` for a post that waits: it may be posted yet."""
SCHEDULED: Final = "scheduled"
"""The reason of `social.failed` for a post that has its time: it is posted then."""
IN_DOUBT: Final = "in_doubt"


def told(post: ChannelPost, now: datetime) -> PostRefusal | None:
    """What is answered about a post that is not out; None while an answer is still to come, or if it is out."""
    match post.state:
        case ChannelPostState.WAITING:
            return PostRefusal(NEEDS_REVIEW, f"post {post.post_id} waits for a person")
        case ChannelPostState.PLANNED if post.due_at is not None and post.due_at > now:
            return PostRefusal(SCHEDULED, f"post {post.post_id} is sent on {post.due_at:%Y-%m-%d %H:%M} UTC")
        case (
            ChannelPostState.FAILED
            | ChannelPostState.IN_DOUBT
            | ChannelPostState.CALLED_OFF
            | ChannelPostState.REJECTED
        ):
            return PostRefusal(post.reason, post.detail)
        case _:
            return None
