"""Reads keyword lists: one keyword a line, or a CSV table. Pure: no I/O, no clock."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from envelope.brand.payloads import Priority
from envelope.brand.texts import shown

SEPARATORS: Final = ",;\t"
COLUMNS: Final = ("keyword", "priority", "distinct")
_YES_OR_NO: Final = {"": None, "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
MAX_ENTRIES: Final = 10_000
MAX_LINES: Final = 100_000
"""Lines of a list, empty ones included. An error names the limit that is reached first from the top."""
MAX_LINE: Final = 10_000
"""Characters of a line, or of a table's row, which may span several lines."""

_FIRST_LINE: Final = re.compile(r"[^\r\n]*")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")  # with what ends it


@dataclass(frozen=True, slots=True)
class KeywordLine:
    """A keyword of the list, with its line."""

    line: int
    """Line number from 1; the last line of a cell that spans several."""
    keyword: str
    priority: Priority | None = None
    is_distinct: bool | None = None
    """Whether it is a subject of its own, if the list says so."""


class KeywordListError(ValueError):
    """The list is invalid; the message names the line and says what to do."""


def read_lines(body: bytes) -> list[KeywordLine]:
    """Reads one keyword a line, without empty lines.

    Raises:
        KeywordListError: it is not UTF-8, or too long.
    """
    listed: list[KeywordLine] = []
    for number, line in enumerate(_lines(body), start=1):
        if keyword := line.strip():
            _demand_room(listed, number)
            listed.append(KeywordLine(number, keyword))
    return listed


def read_table(body: bytes) -> list[KeywordLine]:
    """Reads rows under a header with `keyword` and optionally `priority` and `distinct`, without empty rows.

    Commas, semicolons or tabs, as in the header, separate cells; quotes are those of RFC 4180.

    Raises:
        KeywordListError: it is not UTF-8, or too long; the header is missing or has other columns, a row has too few or too many cells,
            a quote does not end, a priority is none, or `distinct` is neither yes nor no.
    """
    text = _text(body)
    header = _FIRST_LINE.match(text, 0, MAX_LINE)[0]  # type: ignore[index]  # it matches nothing, too
    separator = max(SEPARATORS, key=Counter(header).__getitem__)
    source = _RowLines(text)
    rows = csv.reader(source, delimiter=separator, strict=True)
    listed: list[KeywordLine] = []
    try:
        columns = _columns(next(rows, []))
        source.end_row()
        for row in rows:
            source.end_row()
            if any(cell.strip() for cell in row):
                _demand_room(listed, rows.line_num)
                listed.append(_row(rows.line_num, columns, row))
    except csv.Error as error:
        raise KeywordListError(f'line {rows.line_num}: {error}; quote a cell as "it says ""so"""') from error
    return listed


class _RowLines:
    """Iterates over a table's lines; refuses a row that is too long before it is parsed."""

    def __init__(self, text: str) -> None:
        self._lines = _LINE.finditer(text)
        self._number = 0
        self._row = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)[0]
        self._number += 1
        _demand_few_lines(self._number)
        self._row += len(line)
        if self._row > MAX_LINE:
            raise _too_long_a_line(self._number)
        return line

    def end_row(self) -> None:
        self._row = 0


def _demand_room(listed: list[KeywordLine], line: int) -> None:
    if len(listed) == MAX_ENTRIES:
        raise KeywordListError(
            f"line {line}: the list has more than {MAX_ENTRIES:,} keywords, which is the limit of one request; split the list"
        )


def _demand_few_lines(line: int) -> None:
    if line > MAX_LINES:
        raise KeywordListError(
            f"line {line}: the list has more than {MAX_LINES:,} lines; leave the empty ones out"
        )


def _lines(body: bytes) -> Iterator[str]:
    for number, found in enumerate(_LINE.finditer(_text(body)), start=1):
        _demand_few_lines(number)
        line = found[0].rstrip("\r\n")
        if len(line) > MAX_LINE:
            raise _too_long_a_line(number)
        yield line


def _too_long_a_line(line: int) -> KeywordListError:
    return KeywordListError(f"line {line}: has more than {MAX_LINE:,} characters; write one keyword a line")


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise KeywordListError(f"line {line}: is not UTF-8; save the list as UTF-8") from error


def _columns(header: list[str]) -> list[str]:
    columns = [name.strip().casefold() for name in header]
    if "keyword" not in columns:
        raise KeywordListError(
            "line 1: the first line of a table names its columns, and one of them is `keyword`; without a header, send it as text/plain"
        )
    for place, name in enumerate(columns):
        if name not in COLUMNS:
            raise KeywordListError(
                f"line 1: the column {shown(header[place])} is not known; leave it out: there are `keyword`, `priority` and `distinct`"
            )
        if name in columns[:place]:
            raise KeywordListError(f"line 1: the column `{name}` is there twice; leave one out")
    return columns


def _row(line: int, columns: list[str], row: list[str]) -> KeywordLine:
    if len(row) != len(columns):
        raise KeywordListError(
            f"line {line}: has {len(row)} cells, the header has {len(columns)}; put a cell that contains the separator in quotes"
        )
    cells = dict(zip(columns, (cell.strip() for cell in row), strict=True))
    priority = cells.get("priority", "").casefold()
    if priority and priority not in set(Priority):
        raise KeywordListError(
            f"line {line}: the priority {shown(cells['priority'])} is none; say {', '.join(Priority)}, or leave it empty"
        )
    distinct = cells.get("distinct", "").casefold()
    if distinct not in _YES_OR_NO:
        raise KeywordListError(
            f"line {line}: {shown(cells['distinct'])} in the column `distinct` is neither yes nor no; say one, or leave it empty"
        )
    return KeywordLine(line, cells["keyword"], Priority(priority) if priority else None, _YES_OR_NO[distinct])
