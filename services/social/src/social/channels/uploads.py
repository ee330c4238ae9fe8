"""What goes before a post and is seen by nobody: its picture, and what else has to be there first."""

from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypeVar

from receipts import NotSent, Refused, UnknownOutcome
from social.channels.channel import ComposedPost, PictureSource

_T = TypeVar("_T")

UPLOAD_SECONDS: Final = 8.0
"""For one request that goes before a post: what takes longer is tried again before the post is."""


def picture_of(post: ComposedPost) -> dict[str, str] | None:
    """The picture of a post as it is kept in what was prepared; None: it has none."""
    if not post.pictures:
        return None
    first = post.pictures[0]
    return {"url": first.url, "alt": first.alt, "media_type": first.media_type}


async def bytes_of(pictures: PictureSource, picture: Mapping[str, Any]) -> bytes | None:
    """None: it can never be had, and the post goes without it. Raises NotSent: it cannot be had now."""
    try:
        return await pictures.read(picture["url"])
    except Refused:
        return None


async def unseen(preparing: Awaitable[_T]) -> _T:
    """Of requests before the one that counts: whatever became of them, the post itself was not sent.

    Raises:
        NotSent: also where it is not known whether they arrived, or where their answer cannot be read.
    """
    try:
        return await preparing
    except UnknownOutcome as error:
        raise NotSent("no_answer", f"before anything was posted: {error.detail}") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise NotSent("strange_answer", f"before anything was posted: {error!r}") from error
