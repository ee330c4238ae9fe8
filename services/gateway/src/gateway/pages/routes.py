"""Routes that read web pages for the other services."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from pydantic import StringConstraints

from chassis.http.api import READ, IfNoneMatch, View, conditional, needs, refusal, router
from chassis.http.callers import Scope
from gateway.egress import EgressRefusedError, EgressUnavailableError, parse
from gateway.egress.urls import MAX_LENGTH
from gateway.pages.domain import PageResponse, describe
from gateway.pages.reader import PageReader
from gateway.problems import CallProblem, CallProblemError

_AT_ONCE: Final = 8
"""Concurrent answers; each takes about four times the size of its page."""
_NOT_CONFIGURED: Final = CallProblem(
    "page.not_configured",
    "reading pages is switched off: set ROBOT_ABOUT to the address of a page that tells sites about you",
    HTTPStatus.UNPROCESSABLE_ENTITY,
)


_NO_PAGE: Final = {
    **refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "The page cannot or must not be read; `type` says why."),
    **refusal(HTTPStatus.FAILED_DEPENDENCY, "The site failed or limits requests; retry after `Retry-After`."),
}


class AddressCheckView(View):
    """An address and its answer."""

    address: str
    """The requested address, normalized."""
    final: str
    """The address after redirects."""
    status: int
    """The status there; 200 for a fresh cached page."""
    looked_at: datetime


class PageView(View):
    """A page as its site sent it. Its content is untrusted: parse it away from secrets."""

    address: str
    """The requested address, normalized."""
    final: str
    """The address after redirects."""
    canonical: str | None
    """The canonical address in the header `Link`, if any."""
    media_type: str
    charset: str | None
    """From `Content-Type`."""
    language: str | None
    """The first entry of `Content-Language`."""
    licence: str | None
    """The address of a licence in the header `Link`."""
    robots_tag: str | None
    """`X-Robots-Tag`, unchanged."""
    last_modified: datetime | None
    read_at: datetime
    """When the site last sent or confirmed it."""
    good_until: datetime
    """Until then, the cache answers."""
    body: str
    """The decompressed bytes, in base64."""


def page_routes(reader: PageReader | None) -> APIRouter:
    """Creates the routes; without a reader they answer `page.not_configured`."""
    routes = router("/pages", tags=["Pages"])
    room = asyncio.Semaphore(_AT_ONCE)

    @routes.get(
        "",
        dependencies=[needs(Scope.SUBMIT)],
        summary="Read a web page",
        response_model=PageView,
        responses={**READ, **_NO_PAGE},
    )
    async def read_page(
        url: Annotated[str, StringConstraints(min_length=1, max_length=MAX_LENGTH), Query()],
        feed: Annotated[bool, Query(description="Whether a feed is expected, which may be JSON.")] = False,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Returns the page at an address; it follows robots.txt, and caches the page as long as the site allows."""
        if reader is None:
            raise CallProblemError(_NOT_CONFIGURED)
        with _refusals():
            found = await reader.read(parse(url), feed=feed)
        async with room:
            return conditional(await asyncio.to_thread(_told, found), if_none_match)

    @routes.get(
        "/answer",
        dependencies=[needs(Scope.SUBMIT)],
        summary="Check whether a web page exists",
        responses=_NO_PAGE,
    )
    async def check_page(
        url: Annotated[str, StringConstraints(min_length=1, max_length=MAX_LENGTH), Query()],
    ) -> AddressCheckView:
        """Returns the status of an address. It follows robots.txt and reads no body."""
        if reader is None:
            raise CallProblemError(_NOT_CONFIGURED)
        with _refusals():
            seen = await reader.look(parse(url))
        return AddressCheckView(
            address=seen.address, final=seen.final, status=seen.status, looked_at=seen.looked_at
        )

    return routes


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except EgressRefusedError as error:
        raise CallProblemError(
            CallProblem(f"page.{error.code}", str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
        ) from error
    except EgressUnavailableError as error:
        raise CallProblemError(
            CallProblem(
                f"page.{error.code}",
                str(error),
                HTTPStatus.FAILED_DEPENDENCY,
                transient=True,
                after=error.after,
            )
        ) from error


def _told(page: PageResponse) -> bytes:
    about = describe(page)
    view = PageView(
        address=page.address,
        final=page.final,
        canonical=about.canonical,
        media_type=about.media_type,
        charset=about.charset,
        language=about.language,
        licence=about.licence,
        robots_tag=page.headers.get("x-robots-tag"),
        last_modified=about.last_modified,
        read_at=page.read_at,
        good_until=page.expires_at,
        body=b64encode(page.body).decode(),
    )
    return view.model_dump_json().encode()
