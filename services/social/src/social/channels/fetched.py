"""Pictures that a platform fetches by itself, from the address that a post names.

A platform says only that it could not fetch a picture. Whether the publisher was away, lacks the picture, or cannot be reached from outside,
the publisher itself tells.
"""

from typing import Final

from receipts import NotSent, Refused
from social.channels.channel import PictureSource

REASON: Final = "picture"


async def wait_for_publisher(pictures: PictureSource, url: str) -> None:
    """Called before a platform is asked to fetch a picture: one that cannot be fetched now is not worth a request.

    Whatever else is wrong with the picture, the platform decides.

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
    """Why a platform could not fetch a picture; `said`: what it says of that, as a clause.

    Returns:
        `NotSent` without an attempt counted if the publisher is away; with one if it lacks the picture for now, or serves it: then its
        public address is away or does not exist. `Refused` if the picture is gone for good, or nobody can be asked.
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
