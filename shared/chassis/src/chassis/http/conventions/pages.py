"""Lists are read page by page: `limit` says how many entries, `after` where the page begins, `next` where the one after it does."""

from typing import Annotated, Final

from fastapi import Query
from pydantic import BeforeValidator

MAX_PAGE: Final = 200
"""Entries of one page, of every list."""
DEFAULT_PAGE: Final = 50
AFTER: Final = "`next` of the page before."
FORMER_AFTER: Final = "Deprecated: the former name of `after`."
_FORMER_MAX: Final = 1000


def _at_most_a_page(given: object) -> object:
    """Takes what earlier versions allowed for as much as a page holds."""
    text = str(given)
    if text.isascii() and text.isdigit() and len(text) <= len(str(_FORMER_MAX)):
        return min(int(text), MAX_PAGE) if int(text) <= _FORMER_MAX else given
    return given


PageLimit = Annotated[int, Query(description="At most so many.", ge=1, le=MAX_PAGE)]
FormerlyLargerLimit = Annotated[PageLimit, BeforeValidator(_at_most_a_page)]
"""For lists whose pages held up to 1,000 entries once: who asks for more than a page holds has one page, and `next`."""
