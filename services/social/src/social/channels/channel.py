"""What a channel is: the rules of its texts, and how a post goes out there. One file of this folder holds each."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol, Self
from uuid import UUID

from receipts import Account, Step

Placement = Literal["in_text", "first_comment", "none"]
"""Where the link to the article stands."""

MOST: Final = 2_000_000_000
"""Likes, and so on, that are kept; nobody's post is received better."""

READ: Final = "Read the article: "


@dataclass(frozen=True, slots=True)
class TextLimit:
    unit: str
    maximum: int
    count: Callable[[str], int]

    def holds(self, text: str) -> bool:
        return self.count(text) <= self.maximum


@dataclass(frozen=True, slots=True)
class Facet:
    """A part of a text that is a link or a hashtag, as UTF-8 byte offsets, the end exclusive.

    `target` is the address, or the hashtag without its #.
    """

    start: int
    end: int
    kind: str  # "link" | "tag"
    target: str


@dataclass(frozen=True, slots=True)
class PostPicture:
    """A picture of the article's; its addresses can be read by everybody, `alt` says what is to be seen. Width and height in pixels.

    `jpeg_url` has it as JPEG in upright format, for channels that take nothing else.
    """

    url: str
    alt: str
    media_type: str
    width: int
    height: int
    jpeg_url: str | None = None


class PictureSource(Protocol):
    """Where steps that send a picture's bytes get them from, or learn whether a platform can fetch it."""

    async def read(self, url: str) -> bytes:
        """Raises `receipts.NotSent`: it cannot be had now, and nothing was sent. `receipts.Refused`: it never can."""

    async def check(self, url: str) -> None:
        """Looks within a few seconds whether the picture is served. Raises as `read` does."""


@dataclass(frozen=True, slots=True)
class ComposedPost:
    """A post as it goes out: `text` is whole, with link and hashtags where the channel has them in its text.

    `post_id` is the same however often it is tried: what a channel needs of keys follows from it. `link` leads to the article, wherever
    it stands (`placement`); `facets` are those of `text`; `language` is a BCP 47 tag.
    """

    post_id: UUID
    brand_slug: str
    content_id: UUID
    title: str
    description: str
    text: str
    link: str | None
    placement: Placement = "in_text"
    facets: tuple[Facet, ...] = ()
    hashtags: tuple[str, ...] = ()
    pictures: tuple[PostPicture, ...] = ()
    language: str | None = None


@dataclass(frozen=True, slots=True)
class PostMetrics:
    """How a post has been received so far; None: the platform does not say."""

    likes: int | None
    shares: int | None
    """Passed on to others, with words of their own or without."""
    replies: int | None

    @classmethod
    def told(cls, document: Any, *, likes: str, shares: Sequence[str], replies: str) -> Self:
        """Of an answer's members by these names; shares are the sum of those that it has."""
        shared = [found for each in shares if (found := _count(document, each)) is not None]
        return cls(
            _count(document, likes), min(sum(shared), MOST) if shared else None, _count(document, replies)
        )


def _count(document: Any, name: str) -> int | None:
    value = document.get(name) if isinstance(document, Mapping) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return None
    return min(value, MOST)


FetchPostMetrics = Callable[[Account, str], Awaitable[PostMetrics]]
"""(the account, the `id` that the post's steps remember) → how it was received; asked at the platform, once.

Raises:
    receipts.NotSent, receipts.UnknownOutcome: it could not be asked now, or gave no answer.
    receipts.Refused: `gone`, there is no such post (any more); `not_told`, this server tells it of no post. Others may pass.
"""


@dataclass(frozen=True, slots=True)
class ChannelSender:
    """How a post goes out on a channel.

    Args:
        prepare: makes of a post and the time of its first attempt all that later attempts need to be the same: texts, keys, times. Pure, and
            its result is JSON.
        steps: what is sent, one after the other, of what was prepared, alone of that. What they remember together has under `url` where the
            post can be seen, unless nobody outside can see it.
        errors: what the platform calls a refusal, in plain words that say what to do.
        seconds: how long all of it may take.
        placements: where the link may stand; the first unless the brand says otherwise.
        needs_picture: without one there is no post.
        reach: asks how a post was received, where the platform tells that for nothing.
    """

    prepare: Callable[[ComposedPost, datetime], Mapping[str, Any]]
    steps: Callable[[Mapping[str, Any], PictureSource], Sequence[Step]]
    errors: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 60.0
    placements: tuple[Placement, ...] = ("in_text", "none")
    needs_picture: bool = False
    reach: FetchPostMetrics | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """`headline`: the title stands above the text. `points`, `hashtags`: at most so many. `bulleted`: points as a list.

    `opening`: with which of what there is to say of an article a post begins, counted from 0 and around: the description, then its key
    points; so that channels do not all say the same. `invitation` stands before the link. `source` says where the limits come from, `note`
    what a poster should know. Without `sending`, nothing goes out there; without `drafted`, no reader is shown a draft for it.
    """

    name: str
    label: str
    limits: tuple[TextLimit, ...]
    headline: bool
    points: int
    bulleted: bool
    hashtags: int
    invitation: str = ""
    note: str = ""
    source: str = ""
    escape: Callable[[str], str] | None = None
    opening: int = 0
    drafted: bool = True
    sending: ChannelSender | None = None
