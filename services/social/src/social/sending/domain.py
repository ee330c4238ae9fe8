"""States and texts of posts on other platforms. Pure: no I/O, no clock, no randomness."""

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
from social.composing import LinkTooLongError, NothingToSayError, compose
from social.counting import utf8_bytes
from social.cutting import hashtag
from social.domain import BrandSlug, PostId, PostRefusal, is_web_address, post_id, story_of
from social.story import Story

EVERYTHING: Final = "everything"
_LINK = regex.compile(r"https?://[^\s<>\"]+[^\s<>\".,;:!?)\]}'’”]")  # noqa: RUF001
_TAG = regex.compile(r"(?<![\p{L}\p{N}_&/#])#([\p{L}\p{M}\p{N}_]*\p{L}[\p{L}\p{M}\p{N}_]*)")


class ChannelPostState(StrEnum):
    NEW = "new"
    """Its account is not determined yet."""
    WAITING = "waiting"
    """Waits for review."""
    PLANNED = "planned"
    """Goes out when it is due."""
    SENDING = "sending"
    POSTED = "posted"
    FAILED = "failed"
    """Sending failed; a person may retry it."""
    IN_DOUBT = "in_doubt"
    """May be out; a person has to check."""
    CALLED_OFF = "called_off"
    """A person called it off, or its article is gone."""
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
    """Texts, pictures and links of an article for its posts."""

    story: Story
    """Its link is the target of the post: the article's address, or later the post's short link."""
    pictures: tuple[PostPicture, ...]
    language: str | None
    short_link: str | None = None
    """The article's short link, if posts use short links."""
    article_link: str | None = None
    """The article's own address, if the post has a short link."""

    @property
    def article(self) -> str | None:
        """The article's own address."""
        return self.article_link or self.story.link

    def leading_by(self, mark: str) -> "PostMaterial":
        """A copy with the short link of the post with this mark, if posts use short links."""
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
    """The five characters that a post appends to its article's short link; the same in every attempt."""
    return b32encode(post_id.bytes).decode()[:5].lower()


@dataclass(frozen=True, slots=True)
class ChannelRules:
    """A brand's settings for posts on a channel; None: the channel's default. Hashtags have no #."""

    link: Placement | None = None
    hashtags: tuple[str, ...] = ()
    most_tags: int | None = None
    reach: bool = False
    """Whether social requests post metrics from the platform."""


@dataclass(frozen=True, slots=True)
class SendingAccount:
    """An account at the gateway that the brand may use."""

    name: str
    kind: str
    state: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class PostTime:
    """When a post goes out; None: now. `in_queue`: the time is a slot of its account, which another post may take."""

    due_at: datetime | None = None
    in_queue: bool = False


@dataclass(frozen=True, slots=True)
class NewChannelPost:
    """A post from a command, before it is stored."""

    post_id: PostId
    brand_slug: BrandSlug
    content_id: UUID
    asked_as: str
    entry: str
    correlation_id: str | None
    material: PostMaterial
    approval: str
    posted_as: str | None = None
    """Its address, if it was announced before the database lost its row."""
    asked_since: datetime | None = None
    """Time since which it may be out under a row that the database lost; None: it is not out."""


@dataclass(frozen=True, slots=True)
class ChannelText:
    """The text of a post for a channel."""

    text: str
    tags: tuple[str, ...]
    placement: Placement


@dataclass(frozen=True, slots=True)
class ChannelPost:
    """A post on another platform; the migration documents the columns."""

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
    """The normalized name of a channel; equal for two spellings of one name."""
    return name.strip().casefold()


def new_posts(
    command: SocialCreate,
    names: Sequence[str],
    correlation_id: str | None,
    *,
    lost_until: datetime | None = None,
) -> list[NewChannelPost]:
    """One new post for each channel; two spellings of a name count once.

    `lost_until`: time of the database's last known loss of rows; None: none known.
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
    """The account for a channel's name: the one of that name, or the only one of that kind."""
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
            f"several {CHANNELS[entry].network.title} accounts are connected: name one of them as the channel: {names}",
        )
    if entry in CHANNELS:
        return PostRefusal(
            "channel_not_connected",
            f"no {CHANNELS[entry].network.title} account is connected for this brand, so nothing was posted there;"
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
    """The sender of a channel; None if no posts go out there."""
    channel = CHANNELS.get(kind)
    return None if channel is None else channel.sending


def said(channel: Channel, material: PostMaterial, rules: ChannelRules) -> ChannelText | PostRefusal:
    """Composes the text about an article for a channel by the brand's rules, or says why there is no post."""
    assert channel.sending is not None
    if channel.network.needs_picture and not material.pictures:
        return PostRefusal(
            "needs_picture",
            f"{channel.network.title} takes no post without a picture, and the article has none",
        )
    placements = channel.network.placements
    placement = rules.link if rules.link in placements else placements[0]
    most = channel.network.hashtags if rules.most_tags is None else rules.most_tags
    own = filter(None, (hashtag(each) for each in rules.hashtags))
    tags = tuple({tag.casefold(): tag for tag in reversed((*own, *material.story.tags))}.values())[::-1]
    story = replace(material.story, tags=tags, link=material.story.link if placement == "in_text" else None)
    try:
        draft = compose(channel.with_style(hashtags=most), story)
    except LinkTooLongError:
        return PostRefusal(
            "link_too_long",
            f"the article's address alone is longer than {channel.network.title} allows a post to be",
        )
    except NothingToSayError as problem:
        return PostRefusal(
            problem.reason,
            f"{story.why_silent}: a post on {channel.network.title} would only repeat the title; edit the article's key points",
        )
    return ChannelText(draft.text, tuple(tag for tag in tags[:most] if tag in draft.text), placement)


def composed(post: ChannelPost) -> ComposedPost:
    """The complete post for the channel's sender."""
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
    """Facets for links and hashtags: all of an edited text, else those that `compose` added at the end."""
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
    """The facets that do not overlap an earlier one: `#part` of an address is not a hashtag."""
    kept: list[tuple[int, str, str, str]] = []
    for each in found:
        if not kept or each[0] >= kept[-1][0] + len(kept[-1][1]):
            kept.append(each)
    return kept


def but_out(why: PostRefusal, address: str | None) -> PostRefusal:
    """The refusal of a later step, such as a comment, with the address of the post if its first step succeeded."""
    if address is None:
        return why
    return PostRefusal(
        why.reason, f"the post is out at {address}, and what was to follow it is not: {why.detail}"
    )


NEEDS_REVIEW: Final = "needs_review"
"""The reason of `social.failed` for a post under review; it may still go out."""
SCHEDULED: Final = "scheduled"
"""The reason of `social.failed` for a post with a set time, at which it goes out."""
IN_DOUBT: Final = "in_doubt"


def told(post: ChannelPost, now: datetime) -> PostRefusal | None:
    """The answer about a post that is not out; None if it is out, or if an answer follows later."""
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
