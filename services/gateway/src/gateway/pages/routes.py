"""Pages of the web for the other services."""

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
from gateway.egress import PassingError, RefusedError, parse
from gateway.egress.urls import MAX_LENGTH
from gateway.pages.domain import Page, describe
from gateway.pages.reader import Reader
from gateway.problems import Problem, ProblemError

_AT_ONCE: Final = 8
"""Answers that are put together at a time: each takes about four times the size of its page meanwhile."""
_NOT_CONFIGURED: Final = Problem(
    "page.not_configured",
    "no page is read before sites can learn who reads them: set ROBOT_ABOUT to the address of a page about you",
    HTTPStatus.UNPROCESSABLE_ENTITY,
)


_NO_PAGE: Final = {
    **refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "It cannot or must not be read; `type` says why."),
    **refusal(HTTPStatus.FAILED_DEPENDENCY, "The site failed or wants a rest; again after `Retry-After`."),
}


class AnswerView(View):
    """How an address answered."""

    address: str
    """As asked for, in its one form."""
    final: str
    """Where the redirects ended."""
    status: int
    """Of the site's answer there; 200 for a page that is kept and good."""
    looked_at: datetime


class PageView(View):
    """A page as its site sent it. What is inside is a stranger's: read it where there are no secrets."""

    address: str
    """As asked for, in its one form."""
    final: str
    """Where the redirects ended."""
    canonical: str | None
    """The address that the site's header `Link` gives it, if any."""
    media_type: str
    charset: str | None
    """As `Content-Type` says."""
    language: str | None
    """The first of `Content-Language`."""
    licence: str | None
    """The address of a licence in the header `Link`."""
    robots_tag: str | None
    """`X-Robots-Tag` as it came."""
    last_modified: datetime | None
    read_at: datetime
    """When the site last answered or confirmed it."""
    good_until: datetime
    """Until then it is answered from what is kept here."""
    body: str
    """The bytes, unpacked, in base64."""


def page_routes(reader: Reader | None) -> APIRouter:
    """The routes; without a reader they say what is missing."""
    routes = router("/pages", tags=["Pages"])
    room = asyncio.Semaphore(_AT_ONCE)

    @routes.get(
        "",
        dependencies=[needs(Scope.SUBMIT)],
        summary="A page of the web",
        response_model=PageView,
        responses={**READ, **_NO_PAGE},
    )
    async def read_page(
        url: Annotated[str, StringConstraints(min_length=1, max_length=MAX_LENGTH), Query()],
        feed: Annotated[bool, Query(description="Whether a feed is expected, which may be JSON.")] = False,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """What is at an address: read as a polite visitor, and kept for as long as the site allows."""
        if reader is None:
            raise ProblemError(_NOT_CONFIGURED)
        with _refusals():
            found = await reader.read(parse(url), feed=feed)
        async with room:
            return conditional(await asyncio.to_thread(_told, found), if_none_match)

    @routes.get(
        "/answer",
        dependencies=[needs(Scope.SUBMIT)],
        summary="Whether a page of the web is there",
        responses=_NO_PAGE,
    )
    async def check_page(
        url: Annotated[str, StringConstraints(min_length=1, max_length=MAX_LENGTH), Query()],
    ) -> AnswerView:
        """How its site answers, whatever the status: asked as politely as for a page, and nothing of a body is read."""
        if reader is None:
            raise ProblemError(_NOT_CONFIGURED)
        with _refusals():
            seen = await reader.look(parse(url))
        return AnswerView(
            address=seen.address, final=seen.final, status=seen.status, looked_at=seen.looked_at
        )

    return routes


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except RefusedError as error:
        raise ProblemError(
            Problem(f"page.{error.code}", str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
        ) from error
    except PassingError as error:
        raise ProblemError(
            Problem(
                f"page.{error.code}",
                str(error),
                HTTPStatus.FAILED_DEPENDENCY,
                transient=True,
                after=error.after,
            )
        ) from error


def _told(page: Page) -> bytes:
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
