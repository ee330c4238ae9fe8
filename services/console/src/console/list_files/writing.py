"""Writes lists as CSV or JSON, piece by piece. Its only I/O is reading the pages."""

import csv
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal

from client import ClientError

Format = Literal["csv", "json"]
MOST_ROWS: Final = 10_000
PAGE_ROWS: Final = 200
_FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r")

ReadPage = Callable[[Any], Awaitable[Mapping[str, Any]]]
"""Reads the page after a cursor; None for the first."""


class ListPages:
    """The pages of a list, up to MOST_ROWS rows.

    Args:
        first: the first page.
        read: reads the page after a cursor.
    """

    def __init__(self, first: Mapping[str, Any], read: ReadPage) -> None:
        self._page = first
        self._read = read
        self.rows = 0
        self.end: Literal["whole", "more", "broken"] = "whole"
        """Whether the file has the whole list, there is more, or a service did not answer any more."""

    async def __aiter__(self) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        while True:
            items = self._page["items"][: MOST_ROWS - self.rows]
            self.rows += len(items)
            yield items
            after = self._page["next"]
            if after is None:
                return
            if self.rows >= MOST_ROWS:
                self.end = "more"
                return
            try:
                self._page = await self._read(after)
            except ClientError:
                self.end = "broken"
                return


def _cell(value: Any) -> str:
    """Writes a cell. An apostrophe keeps spreadsheets from taking foreign text for a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = text.replace("\0", "")
    is_number = isinstance(value, int | float)
    return f"'{text}" if text.startswith(_FORMULA_SIGNS) and not is_number else text


async def csv_pieces(
    pages: ListPages, columns: Mapping[str, str], ends: Mapping[str, str]
) -> AsyncIterator[bytes]:
    """Writes CSV with a header; if the list is not whole, the last line says so.

    Args:
        pages: of the list.
        columns: fields of the items, and the headings of their columns.
        ends: the last line by the way in which the list ends.
    """
    # The mark tells spreadsheets that it is UTF-8.
    yield b"\xef\xbb\xbf" + _lines([[_cell(each) for each in columns.values()]])
    async for items in pages:
        yield _lines([[_cell(item.get(name)) for name in columns] for item in items])
    if pages.end != "whole":
        yield _lines([[_cell(ends[pages.end])]])


def _lines(rows: list[list[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()


async def json_pieces(pages: ListPages, columns: Mapping[str, str]) -> AsyncIterator[bytes]:
    """Writes `{"items": […], "end": "whole"}`; `more`: the list is longer, `broken`: a service stopped answering."""
    yield b'{"items": ['
    separator = b""
    async for items in pages:
        for item in items:
            fields = {name: item.get(name) for name in columns}
            yield separator + json.dumps(fields, ensure_ascii=False).encode()
            separator = b",\n"
    yield b'], "end": "' + pages.end.encode() + b'"}'
