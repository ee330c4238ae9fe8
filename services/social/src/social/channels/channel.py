"""Types of channels: rules of texts, and the way posts go out. Each channel has a module in this folder."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Protocol, Self
from uuid import UUID

from integrations.networks import Network, Placement
from receipts import AccountClient, Step

MOST: Final = 2_000_000_000
"""Largest stored count of likes, shares or replies."""


@dataclass(frozen=True, slots=True)
class CountedLimit:
    """The most of a text, and the function that counts it."""

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
        seconds: most time for all steps.
        reach: requests the metrics of a post, if the platform reports them free of charge.
    """

    prepare: Callable[[ComposedPost, datetime], Mapping[str, Any]]
    steps: Callable[[Mapping[str, Any], PictureSource], Sequence[Step]]
    seconds: float = 60.0
    reach: FetchPostMetrics | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel: the facts about its network, and how its posts are counted and sent.

    `counts` are functions for the network's limits, in their order. Without `sending`, no posts go out.
    """

    network: Network
    counts: tuple[Callable[[str], int], ...]
    escape: Callable[[str], str] | None = None
    sending: ChannelSender | None = None

    @property
    def name(self) -> str:
        return self.network.name

    @property
    def limits(self) -> tuple[CountedLimit, ...]:
        pairs = zip(self.network.limits, self.counts, strict=True)
        return tuple(CountedLimit(limit.unit, limit.maximum, count) for limit, count in pairs)

    def with_style(self, **changes: Any) -> Self:
        """The channel with other fields of its network, such as fewer hashtags."""
        return replace(self, network=replace(self.network, **changes))
