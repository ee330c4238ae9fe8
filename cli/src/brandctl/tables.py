"""Rows for people at a terminal, and tab-separated for everything else."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from brandctl.terminal import out, printable


def show_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, colours: Mapping[str, str] | None = None
) -> None:
    """Whatever the cells hold, it cannot steer the terminal. `colours` are those of cells that say just that."""
    console = out()
    shown = [[printable(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        for row in (headings, *shown):
            # Past the console, which would turn tabs into spaces.
            console.file.write("\t".join(row) + "\n")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading == "id", overflow="fold")
    for row in shown:
        table.add_row(*(Text(cell, style=(colours or {}).get(cell, "")) for cell in row))
    console.print(table)
