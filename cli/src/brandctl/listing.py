"""Lists of a service's entries: JSON for scripts or a table, with a remark if there are more.

A list declares its columns once; a command returns its `of` a page:

    _CYCLES = Listing(
        {"id": "cycle_id", "brand": "brand_slug", "begun": lambda cycle: cycle["created_at"][:10]},
        nothing="no such cycle; submit keywords with brandctl submit",
    )
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brandctl.commands import Result, table

Column = str | Callable[[Any], str]
"""The name of a field, or a function from an entry to its text."""


@dataclass(frozen=True, slots=True)
class Listing:
    """How a list is shown; `nothing` is the text for an empty one."""

    columns: Mapping[str, Column]
    """Heading → column."""
    nothing: str
    colours: Mapping[str, str] = field(default_factory=dict)
    """Text of a cell → its colour."""

    def of(
        self,
        answer: Any,
        items: Sequence[Any] | None = None,
        *,
        more: bool = True,
        nothing: str = "",
        brand: str | None = None,
    ) -> Result:
        """Returns the result of a command that lists the items of an answer.

        Args:
            answer: the JSON, such as a page of a service.
            items: the rows of the table, if not `answer["items"]`.
            more: whether the command takes the cursor of the next page as `--after`.
            nothing: replaces the text for an empty list.
            brand: the brand asked for, which may be a wrong one; None: all brands were.
        """
        shown = answer["items"] if items is None else items
        if not shown:
            asked = f"only brand '{brand}' was looked at; brandctl brands list shows all" if brand else None
            return Result(answer, note=[*filter(None, [nothing or self.nothing, asked])])
        following = answer.get("next") if more and items is None else None
        rows = [[_cell(each, column) for column in self.columns.values()] for each in shown]
        return Result(
            answer,
            table(tuple(self.columns), rows, self.colours),
            note=() if following is None else f"there are more: --after {following}",
        )


def _cell(item: Any, column: Column) -> str:
    if callable(column):
        return column(item)
    value = item.get(column)  # a service of an earlier version may not send it
    return "" if value is None else str(value)
