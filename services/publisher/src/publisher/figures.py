"""The figures of an article that can be drawn: a column of a table with a number in each row. Pure."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple, Self

_ROWS: Final = range(3, 8)
"""Fewer make no chart, and more none that can be read."""
_LONGEST_LABEL: Final = 60
# A number with a unit: "16", "1,000 g", "9.5 bar"; no range, ratio or date.
_NUMBER: Final = re.compile(
    r"(?P<number>\d{1,9}(?:,\d{3}){0,2}(?:\.\d{1,4})?)(?P<unit>[  ]?[^\d\s/:–-]{0,12})"  # noqa: RUF001
)


class FigureRow(NamedTuple):
    label: str
    shown: str
    """The value as the table has it, with its unit."""
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A number for each of a few things."""

    head: str
    """The head of the table's column."""
    rows: tuple[FigureRow, ...]

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def of_json(cls, stored: str) -> Self:
        figure = json.loads(stored)
        return cls(figure["head"], tuple(FigureRow(*row) for row in figure["rows"]))

    @property
    def told(self) -> str:
        """Its content in words."""
        return f"{self.head}: {', '.join(f'{row.label} {row.shown}' for row in self.rows)}"


def figure_of(table: Sequence[Sequence[str]]) -> Figure | None:
    """The figure of a table, its head first; None if no column has numbers alone, or the labels do not tell the rows apart."""
    head, *rows = table
    labels = [row[0] for row in rows]
    if len(rows) not in _ROWS or len(set(labels)) < len(labels) or not all(map(_is_label, labels)):
        return None
    for column in range(1, len(head)):
        cells = [row[column] for row in rows]
        if values := tuple(_values(cells)):
            return Figure(head[column], tuple(map(FigureRow, labels, cells, values)))
    return None


def _is_label(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_LABEL and any(map(str.isalpha, text))


def _values(cells: Sequence[str]) -> Iterator[float]:
    """The numbers of a column in one unit; none if a cell is something else, or if all are the same."""
    matches = [_NUMBER.fullmatch(cell) for cell in cells]
    found = [match for match in matches if match is not None]
    values = [float(match["number"].replace(",", "")) for match in found]
    if len(found) == len(cells) and len({match["unit"] for match in found}) == 1 and len(set(values)) > 1:
        yield from values
