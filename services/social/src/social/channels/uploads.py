"""Uploads before a post, such as its picture, which stay invisible without the post."""

from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypeVar

from receipts import NotSent, Refused, UnknownOutcome
from social.channels.channel import ComposedPost, PictureSource

_T = TypeVar("_T")

UPLOAD_SECONDS: Final = 8.0
"""Timeout, in seconds, of one request before a post."""


def picture_of(post: ComposedPost) -> dict[str, str] | None:
    """The picture of a post as prepared JSON; None if it has none."""
    if not post.pictures:
        return None
    first = post.pictures[0]
    return {"url": first.url, "alt": first.alt, "media_type": first.media_type}


async def bytes_of(pictures: PictureSource, picture: Mapping[str, Any]) -> bytes | None:
    """The picture's bytes; None if it is gone for good, so that the post goes without it. Raises NotSent if it is unavailable now."""
    try:
        return await pictures.read(picture["url"])
    except Refused:
        return None


def missing_in(error: Exception) -> str:
    """Returns what an answer lacks, in plain words."""
    return (
        f"it has no {error.args[0]}"
        if isinstance(error, LookupError) and error.args
        else "it has another form"
    )


async def unseen(preparing: Awaitable[_T]) -> _T:
    """Awaits requests before the post itself; their errors mean that the post was not sent.

    Raises:
        NotSent: a request failed, its outcome is unknown, or its answer is unreadable.
    """
    try:
        return await preparing
    except UnknownOutcome as error:
        raise NotSent("no_answer", f"before anything was posted: {error.detail}") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise NotSent(
            "strange_answer",
            f"before anything was posted, the network gave an answer that cannot be read ({missing_in(error)})",
        ) from error
