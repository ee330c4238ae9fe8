"""Lists of a service's entries: JSON for scripts or a table, with a remark if there are more.

A list declares its columns once; its command takes the options that the service supports:

    _CYCLES = Listing[CycleProgress](
        {"id": lambda cycle: str(cycle.cycle_id), "brand": lambda cycle: cycle.brand_slug},
        nothing="no such cycle; submit keywords with brandctl submit",
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
AfterId = Annotated[UUID | None, typer.Option("--after", help="Id of the last entry of the previous page.")]
MOST_OF_A_PAGE: Final = 200
"""The most entries of a service's page."""
Limit = Annotated[int, typer.Option("--limit", min=1, max=MOST_OF_A_PAGE, help="The most entries to list.")]

_Item = TypeVar("_Item")


@dataclass(frozen=True)  # with slots, Python 3.11 could not make a Listing[…]
class Listing(Generic[_Item]):
    """How a list is shown; `nothing` is the text for an empty one."""

    columns: Mapping[str, Callable[[_Item], str]]
    """Heading of a column → text of its cell."""
    nothing: str
    colours: Mapping[str, str] = field(default_factory=dict)
    """Text of a cell → its colour."""

    def show(
        self, items: Sequence[_Item], answer: Any, *, as_json: bool, more: object = None, nothing: str = ""
    ) -> None:
        """Prints the `answer` as JSON, or its `items` as a table.

        `more` is the value of `--after` for the next page, None at the end; `nothing` replaces the text for an empty list.
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
