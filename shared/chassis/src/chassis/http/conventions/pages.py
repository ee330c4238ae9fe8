"""Paging of lists: `limit` is the number of entries, `after` the start of the page, `next` that of the following page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Generic, TypeVar

from fastapi import Query
from pydantic import BeforeValidator

Entry = TypeVar("Entry")
Place = TypeVar("Place")

MAX_PAGE: Final = 200
"""Maximum entries of a page, in every list."""
DEFAULT_PAGE: Final = 50
AFTER: Final = "`next` of the page before."
FORMER_AFTER: Final = "Deprecated: the former name of `after`."
_FORMER_MAX: Final = 1000


def _at_most_a_page(given: object) -> object:
    """Reduce limits that earlier versions allowed to the maximum of a page."""
    text = str(given)
    if text.isascii() and text.isdigit() and len(text) <= len(str(_FORMER_MAX)):
        return min(int(text), MAX_PAGE) if int(text) <= _FORMER_MAX else given
    return given


PageLimit = Annotated[int, Query(description="Maximum number of entries.", ge=1, le=MAX_PAGE)]
FormerlyLargerLimit = Annotated[PageLimit, BeforeValidator(_at_most_a_page)]
"""For lists that once allowed 1,000 entries per page: a larger limit gives one page, and `next`."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Entry, Place]):
    """The return value of a route with such a list as its `response_model`."""

    items: Sequence[Entry]
    next: Place | None


def page_of(found: Sequence[Entry], limit: int, place: Callable[[Entry], Place]) -> Page[Entry, Place]:
    """Return the page of entries that were read with one more than `limit`; `place` returns the `after` of an entry."""
    return Page(found[:limit], place(found[limit - 1]) if len(found) > limit else None)
