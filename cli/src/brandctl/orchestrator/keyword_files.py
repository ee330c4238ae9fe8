"""Files of keywords: one a line, or a CSV table."""

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple, get_args

import typer

from brandctl.errors import UsageError
from client.services.orchestrator import Priority

ListFile = Annotated[
    str | None,
    typer.Option(
        help="A list: one keyword a line, or a table (.csv) with the columns `keyword` and, if they differ, `priority` and `distinct` (yes or no)."
        " - is standard input."
    ),
]
AsCsv = Annotated[bool, typer.Option("--csv", help="The list is a table, even without the suffix .csv.")]

_SEPARATORS: Final = ",;\t"
_COLUMNS: Final = {"keyword", "priority", "distinct"}
_YES_OR_NO: Final = {"": None, "yes": True, "no": False}


class ListedKeyword(NamedTuple):
    """A keyword of a file with the values of its row; None for an empty cell."""

    keyword: str
    priority: str | None = None
    is_distinct: bool | None = None


def read_file(file: str) -> bytes:
    """Returns the bytes of a file; `-` is standard input.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


def is_table(file: str, *, as_csv: bool) -> bool:
    """Whether the file is a table: by its suffix, or by the option `--csv`."""
    return as_csv or file.lower().endswith(".csv")


def read_keywords(file: str, *, as_csv: bool) -> list[ListedKeyword]:
    """Returns the keywords of a file, without empty rows.

    Raises:
        UsageError: the file cannot be read, is not UTF-8, or is a table with other columns or values; the message names the
            line.
    """
    try:
        text = read_file(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8; save the list as UTF-8") from error
    if not is_table(file, as_csv=as_csv):
        return [ListedKeyword(line.strip()) for line in text.splitlines() if line.strip()]
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        columns = [name.strip().casefold() for name in next(rows, [])]
        _check_columns(file, columns)
        found = [
            _cells(file, rows.line_num, columns, row) for row in rows if any(cell.strip() for cell in row)
        ]
    except csv.Error as error:
        raise UsageError(
            f'{file}, line {rows.line_num}: {error}; quote a cell as "it says ""so"""'
        ) from error
    return [
        ListedKeyword(
            row["keyword"],
            row.get("priority", "").casefold() or None,
            _YES_OR_NO[row.get("distinct", "").casefold()],
        )
        for row in found
    ]


def _check_columns(file: str, columns: Sequence[str]) -> None:
    if "keyword" not in columns or len(set(columns)) != len(columns) or not _COLUMNS.issuperset(columns):
        raise UsageError(
            f"{file}, line 1: the first line of a table names its columns, `keyword` and, if they differ, `priority` and `distinct`;"
            f" it says: {', '.join(columns) or 'nothing'}"
        )


def _cells(file: str, line: int, columns: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    if len(row) != len(columns):
        raise UsageError(
            f"{file}, line {line}: has {len(row)} cells, the header has {len(columns)}; put a cell that contains the separator in"
            " quotes"
        )
    cells = dict(zip(columns, (cell.strip() for cell in row), strict=True))
    priority = cells.get("priority", "")
    if priority and priority.casefold() not in get_args(Priority):
        raise UsageError(
            f"{file}, line {line}: the priority '{priority}' is unknown; write {', '.join(get_args(Priority))}, or leave the cell empty"
        )
    if (distinct := cells.get("distinct", "")).casefold() not in _YES_OR_NO:
        raise UsageError(
            f"{file}, line {line}: '{distinct}' in the column `distinct` is neither yes nor no; say one, or leave the cell empty"
        )
    return cells
