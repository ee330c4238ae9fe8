"""Reads what may be missing, and lists of several pages. The arguments are a method that reads one page, and its own arguments.

for draft in items_of(orchestrator.list_drafts, brand="acme"): ...
"""

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar, cast

from client.errors import RefusedError

MAX_PAGE = 200
"""The most entries of a service's page."""

AnswerT = TypeVar("AnswerT")
PageT = TypeVar("PageT", bound=Mapping[str, Any])


def read_if_known(read: Callable[..., AnswerT], *path: object, or_gone: bool = False) -> AnswerT | None:
    """Returns what the method reads; None if the service does not know it (404), or with `or_gone` no longer has it (410)."""
    try:
        return read(*path)
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND or (or_gone and error.status == HTTPStatus.GONE):
            return None
        raise


def pages_of(
    read: Callable[..., PageT], *path: object, after: object = None, **query: object
) -> Iterator[PageT]:
    """Yields page after page; `after` is the cursor of the first one."""
    while True:
        page = read(*path, after=after, **query)
        yield page
        if (after := page["next"]) is None:
            return


def items_of(read: Callable[..., PageT], *path: object, **query: object) -> Iterator[Any]:
    """Yields the entries of all pages."""
    for page in pages_of(read, *path, **query):
        yield from page["items"]


def read_up_to(
    limit: int, read: Callable[..., PageT], *path: object, cursor: str = "after", **query: object
) -> PageT:
    """Returns up to `limit` entries as one page; its `next` is the cursor of the rest."""
    items: list[Any] = []
    while True:
        wanted = min(limit - len(items), MAX_PAGE)
        page = read(*path, **query, limit=wanted)
        items += page["items"]
        query = {**query, cursor: page["next"]}
        if page["next"] is None or len(items) >= limit or len(page["items"]) < wanted:
            return cast("PageT", {**page, "items": items})
