"""Pictures that a platform fetches from their public address.

A platform reports a failed fetch without a reason. A request to the publisher then shows whether it is away, lacks the picture, or
is unreachable from outside.
"""

from typing import Final

from receipts import NotSent, Refused
from social.channels.channel import PictureSource

REASON: Final = "picture"


async def wait_for_publisher(pictures: PictureSource, url: str) -> None:
    """Checks, before a platform fetches a picture, that the publisher is up; other problems are left to the platform.

    Raises:
        NotSent: the publisher is away; no attempt counts.
    """
    try:
        await pictures.check(url)
    except NotSent as error:
        if error.retry_at is not None:
            raise
    except Refused:
        return


async def explain_failed_fetch(pictures: PictureSource, url: str, said: str) -> NotSent | Refused:
    """Finds out why a platform could not fetch a picture; `said`: the platform's words, as a clause.

    Returns:
        `NotSent` without a counted attempt if the publisher is away. `NotSent` with one if it lacks the picture for now, or serves
        it, so that its public address is unreachable. `Refused` if the picture is gone for good, or no publisher is configured.
    """
    try:
        await pictures.check(url)
    except NotSent as error:
        return error
    except Refused as error:
        return Refused(REASON, f"{said}; {error.detail}")
    return NotSent(
        REASON, f"{said}; the publisher serves {url}, so look whether everybody can read that address"
    )
