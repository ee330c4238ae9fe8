"""Tables: aligned at a terminal, tab-separated elsewhere."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from rich.cells import cell_len
from rich.text import Text

from brandctl.short_ids import is_id, shorten
from brandctl.terminal import out, printable

_GAP: Final = "  "
_INDENT: Final = "    "
_WIDEST: Final = 32
"""The widest column beside others when not all fit; longer cells go below their row and get the whole line."""
_NARROWEST: Final = 30
"""The narrowest that a last column of prose may be; with less room it goes below its row."""


def show_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, colours: Mapping[str, str] | None = None
) -> None:
    """Prints a table; control characters of cells are escaped. `colours`: text of a cell → its colour.

    On a terminal, ids are short. If the columns are wider than the terminal, those that fit stand side by side; the
    others go below their row, one a line, with their heading. No word is broken.
    """
    console = out()
    shown = [[printable(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        for row in (headings, *shown):
            # Not through the console: it turns tabs into spaces.
            console.file.write("\t".join(row) + "\n")
        return
    short = shorten(cell for row in shown for cell in row if is_id(cell))
    cells = [[short.get(cell, cell) for cell in row] for row in shown]
    layout = _TableLayout.of(headings, cells, console.width)
    for line in layout.lines(headings, cells, colours or {}, console.width):
        console.print(line, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class _TableLayout:
    beside: dict[int, int]
    """Index of a column that stands beside others → its width."""
    wraps: bool
    """Whether the last of them is narrower than its longest cell and wraps."""
    below: list[int]

    @classmethod
    def of(cls, headings: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> Self:
        columns = range(len(headings))
        wide = {at: max(map(cell_len, (headings[at], *(row[at] for row in cells)))) for at in columns}
        if _line(wide) <= width:
            return cls(wide, False, [])
        beside: dict[int, int] = {}
        for at in columns:
            if wide[at] <= _WIDEST and _line({**beside, at: wide[at]}) <= width:
                beside[at] = wide[at]
        below = [at for at in columns if at not in beside]
        room = width - _line(beside) - len(_GAP)
        if beside and below == [columns[-1]] and room >= _NARROWEST:
            return cls({**beside, columns[-1]: room}, True, [])
        return cls(beside, False, below)

    def lines(
        self, headings: Sequence[str], cells: Sequence[Sequence[str]], colours: Mapping[str, str], width: int
    ) -> Iterator[Text]:
        if any(headings[at] for at in self.beside):
            yield from self._row(headings, dict.fromkeys(headings, "bold"))
            yield Text("─" * min(width, _line(self.beside)), style="dim")
        for row in cells:
            yield from self._row(row, colours)
            for at in self.below:
                yield from self._below(headings[at], row[at], colours, width)

    def _row(self, cells: Sequence[str], colours: Mapping[str, str]) -> Iterator[Text]:
        if not self.beside:
            return
        *first, last = self.beside
        line = Text()
        for at in first:
            line.append(cells[at], style=colours.get(cells[at], ""))
            line.append(" " * (self.beside[at] - cell_len(cells[at])) + _GAP)
        begins = line.cell_len
        parts = _wrapped(cells[last], self.beside[last]) if self.wraps else [cells[last]]
        for number, part in enumerate(parts or [""]):
            if number:
                line = Text(" " * begins)
            line.append(part, style=colours.get(cells[last], ""))
            line.rstrip()
            yield line

    def _below(self, heading: str, cell: str, colours: Mapping[str, str], width: int) -> Iterator[Text]:
        label = f"{heading}: " if heading else ""
        indent = _INDENT if self.beside else ""
        # The first line begins behind the label.
        for number, part in enumerate(_wrapped(f"{'.' * len(label)}{cell}", width - len(indent) - 2)):
            line = Text(indent)
            if number == 0:
                line.append(label, style="dim").append(part[len(label) :], style=colours.get(cell, ""))
            else:
                line.append("  ").append(part, style=colours.get(cell, ""))
            if cell:
                yield line


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words; a word longer than a line gets a line of its own."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _line(widths: Mapping[int, int]) -> int:
    """The length of a line of columns with these widths."""
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1) if widths else 0
