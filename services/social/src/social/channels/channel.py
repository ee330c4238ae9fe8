"""Types of channels: rules of texts, and the way posts go out. Each channel has a module in this folder."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol, Self
from uuid import UUID

from receipts import AccountClient, Step

Placement = Literal["in_text", "first_comment", "none"]
"""The place of the link to the article."""

MOST: Final = 2_000_000_000
"""Largest stored count of likes, shares or replies."""

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
    """A picture of the article at a public address, with `alt` text, and width and height in pixels.

    `jpeg_url` is an upright JPEG for channels that take no other format.
    """

    url: str
    alt: str
    media_type: str
    width: int
    height: int
    jpeg_url: str | None = None


class PictureSource(Protocol):
    """Gives steps the bytes of a picture, and says whether a platform can fetch it."""

    async def read(self, url: str) -> bytes:
        """The picture's bytes. Raises `receipts.NotSent` if it is unavailable now, `receipts.Refused` if it always will be."""

    async def check(self, url: str) -> None:
        """Checks within a few seconds whether the publisher serves the picture; raises as `read`."""


@dataclass(frozen=True, slots=True)
class ComposedPost:
    """A post as it goes out. `text` is complete, with link and hashtags if the channel has them in its text.

    `post_id` is the same in every attempt, and channels derive their keys from it. `link` leads to the article; `placement` says
    where the post shows it. `facets` belong to `text`; `language` is a BCP 47 tag.
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
    """Likes, shares and replies of a post so far; None if the platform does not report them."""

    likes: int | None
    shares: int | None
    """Reposts and quotes."""
    replies: int | None

    @classmethod
    def told(cls, document: Any, *, likes: str, shares: Sequence[str], replies: str) -> Self:
        """Reads the metrics from members of an answer; shares are the sum of the members present."""
        shared = [found for each in shares if (found := _count(document, each)) is not None]
        return cls(
            _count(document, likes), min(sum(shared), MOST) if shared else None, _count(document, replies)
        )


def _count(document: Any, name: str) -> int | None:
    value = document.get(name) if isinstance(document, Mapping) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return None
    return min(value, MOST)


FetchPostMetrics = Callable[[AccountClient, str], Awaitable[PostMetrics]]
"""(account, the platform's id of the post) → its metrics, by one request to the platform.

Raises:
    receipts.NotSent, receipts.UnknownOutcome: no request now, or no answer.
    receipts.Refused: `gone`: the post does not exist; `not_told`: the server reports no metrics. Other reasons may pass.
"""


@dataclass(frozen=True, slots=True)
class ChannelSender:
    """How a post goes out on a channel.

    Args:
        prepare: makes JSON of a post and the time of its first attempt: all texts, keys and times, so that every attempt sends the
            same. Pure.
        steps: makes the steps, in order, from the prepared JSON alone. Their results have the post's address under `url`, unless
            the post is private.
        errors: the platform's refusals in plain words that say what to do.
        seconds: most time for all steps.
        placements: allowed places of the link; the first is the default.
        needs_picture: whether a post without a picture is refused.
        reach: requests the metrics of a post, if the platform reports them free of charge.
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
    """A channel. `headline`: the title precedes the text. `points`, `hashtags`: most of each. `bulleted`: points as a list.

    `opening` selects the first sentence of a post: 0 for the description, 1 for the first key point, and so on, modulo their number.
    So channels begin differently. `invitation` precedes the link. `source` documents the limits, `note` informs posters. Without
    `sending`, no posts go out; without `drafted`, pages show no draft.
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
