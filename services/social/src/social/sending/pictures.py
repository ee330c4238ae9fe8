"""Reads pictures of articles from the publisher's site server."""

from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from chassis.http.client import (
    PassingError,
    ServiceClient,
    UnavailableError,
    Unchanged,
    UnusableAnswerError,
)
from receipts import NotSent, Refused

_SITES: Final = "/sites/"
AGAIN_AFTER: Final = timedelta(seconds=30)
"""Default pause before the next request to an unavailable publisher."""


class PublishedPictures:
    """Reads pictures with `pages`, a client of the publisher; without one, posts have no uploaded pictures.

    `checks` is a client with a shorter timeout that checks whether a picture exists; None: `pages` does.
    """

    def __init__(self, pages: ServiceClient | None, checks: ServiceClient | None = None) -> None:
        self._pages = pages
        self._checks = checks or pages

    @property
    def can_be_read(self) -> bool:
        return self._pages is not None

    async def read(self, url: str) -> bytes:
        """The picture's bytes. Raises `NotSent` if it is unavailable now, `Refused` if it always will be."""
        return await self._get(self._pages, url)

    async def check(self, url: str) -> None:
        """Checks that the publisher serves the picture; raises as `read`."""
        await self._get(self._checks, url)

    async def _get(self, pages: ServiceClient | None, url: str) -> bytes:
        _, sites, place = urlsplit(url).path.partition(_SITES)
        if pages is None or not sites:
            raise Refused(
                "no_picture", f"the picture at {url} is not the publisher's, or social has no PAGES_URL"
            )
        try:
            answer = await pages.get(f"{_SITES}{place}", about=f"the picture {url}")
        except UnavailableError as problem:
            # An outage says nothing about this post: no attempt is counted.
            after = problem.after or AGAIN_AFTER
            raise NotSent("publisher", str(problem), datetime.now(UTC) + after) from problem
        except PassingError as problem:
            raise NotSent("picture", str(problem)) from problem
        except UnusableAnswerError as problem:
            raise Refused("no_picture", str(problem)) from problem
        assert not isinstance(answer, Unchanged)
        return answer.body
