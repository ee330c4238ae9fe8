"""Lists of what a service holds: as it answers, for scripts, or as a table, with a word on what is not in it.

A list says once which columns it has, and its command takes those of the options that the service knows:

    _CYCLES = Listing[CycleProgress](
        {"id": lambda cycle: str(cycle.cycle_id), "brand": lambda cycle: cycle.brand_slug},
        nothing="no such cycle; hand in keywords with brandctl submit",
    )

    @app.command(name="list")
    def list_cycles(brand: OfBrand = None, after: AfterId = None, limit: Limit = 50, as_json: AsJson = False) -> None:
        ...
        _CYCLES.show(found, answer, as_json=as_json, more=answer["next"])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, TypeVar
from uuid import UUID

import typer

from brandctl.tables import show_table
from brandctl.terminal import note, print_json

OfBrand = Annotated[str | None, typer.Option("--brand", help="Slug of the brand.", show_default="all")]
AfterId = Annotated[UUID | None, typer.Option("--after", help="The last id of the page before.")]
MOST_OF_A_PAGE: Final = 200
"""Entries of a list that a service gives at once."""
Limit = Annotated[int, typer.Option("--limit", min=1, max=MOST_OF_A_PAGE, help="At most so many.")]

_Item = TypeVar("_Item")


@dataclass(frozen=True)  # with slots, Python 3.11 could not make a Listing[…]
class Listing(Generic[_Item]):
    """How a list is shown; `nothing` is said if it is empty."""

    columns: Mapping[str, Callable[[_Item], str]]
    """What a cell says, by the heading of its column."""
    nothing: str
    colours: Mapping[str, str] = field(default_factory=dict)
    """Of cells that say just that."""

    def show(
        self, items: Sequence[_Item], answer: Any, *, as_json: bool, more: object = None, nothing: str = ""
    ) -> None:
        """Prints the `answer` as JSON, or the `items` that it holds as a table.

        `more` is what `--after` takes to go on, None if that was all; `nothing` is said of an empty list instead.
        """
        if as_json:
            print_json(answer)
            return
        if not items:
            note(nothing or self.nothing)
            return
        cells = self.columns.values()
        show_table(
            tuple(self.columns), [tuple(cell(item) for cell in cells) for item in items], colours=self.colours
        )
        if more is not None:
            note(f"there are more: --after {more}")
