"""Lists of keywords as people keep them: one a line, or a table as spreadsheets save it. Pure: no I/O, no clock."""

import csv
import io
from collections import Counter
from dataclasses import dataclass
from typing import Final

from envelope.brand.payloads import Priority
from orchestrator.requests import shown

SEPARATORS: Final = ",;\t"
COLUMNS: Final = ("keyword", "priority", "distinct")
_YES_OR_NO: Final = {"": None, "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Listed:
    """A keyword as it stands in the list, and where."""

    line: int
    """Counted from 1; of a cell over several lines, the last."""
    keyword: str
    priority: Priority | None = None
    is_distinct: bool | None = None
    """Whether it is a subject of its own, where the list says so."""


class ListError(ValueError):
    """The list cannot be understood; the message names the line and says what to do."""


def read_lines(body: bytes) -> list[Listed]:
    """One keyword a line; empty lines are left out.

    Raises:
        ListError: it is not UTF-8.
    """
    lines = _text(body).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [Listed(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]


def read_table(body: bytes) -> list[Listed]:
    """Rows under a header that names the column `keyword`, and the columns `priority` and `distinct` if there are such; empty rows are left out.

    Cells are separated by commas, semicolons or tabs, whichever the header has, and quoted as in RFC 4180.

    Raises:
        ListError: it is not UTF-8, the header is missing or has other columns, a row has too few or too many cells, a quote does
            not end, a priority is none, or `distinct` is neither yes nor no.
    """
    text = _text(body)
    header = text.partition("\n")[0]
    separator = max(SEPARATORS, key=Counter(header).__getitem__)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        columns = _columns(next(rows, []))
        listed = [_row(rows.line_num, columns, row) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise ListError(f'line {rows.line_num}: {error}; quote a cell as "it says ""so"""') from error
    return listed


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ListError(f"line {line}: is not UTF-8; save the list as UTF-8") from error


def _columns(header: list[str]) -> list[str]:
    columns = [name.strip().casefold() for name in header]
    if "keyword" not in columns:
        raise ListError(
            "line 1: the first line of a table names its columns, and one of them is `keyword`; without a header, send it as text/plain"
        )
    for place, name in enumerate(columns):
        if name not in COLUMNS:
            raise ListError(
                f"line 1: the column {shown(header[place])} is not known; leave it out: there are `keyword`, `priority` and `distinct`"
            )
        if name in columns[:place]:
            raise ListError(f"line 1: the column `{name}` is there twice; leave one out")
    return columns


def _row(line: int, columns: list[str], row: list[str]) -> Listed:
    if len(row) != len(columns):
        raise ListError(
            f"line {line}: has {len(row)} cells, the header has {len(columns)}; put a cell that contains the separator in quotes"
        )
    cells = dict(zip(columns, (cell.strip() for cell in row), strict=True))
    priority = cells.get("priority", "").casefold()
    if priority and priority not in set(Priority):
        raise ListError(
            f"line {line}: the priority {shown(cells['priority'])} is none; say {', '.join(Priority)}, or leave it empty"
        )
    distinct = cells.get("distinct", "").casefold()
    if distinct not in _YES_OR_NO:
        raise ListError(
            f"line {line}: {shown(cells['distinct'])} in the column `distinct` is neither yes nor no; say one, or leave it empty"
        )
    return Listed(line, cells["keyword"], Priority(priority) if priority else None, _YES_OR_NO[distinct])
