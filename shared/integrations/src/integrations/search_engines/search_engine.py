"""The facts about a search engine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """A search engine; its module's name is the kind of its accounts.

    Args:
        title: its name for people.
        url: the address of its API; None if operators run their own and say where.
        price: dollars for one search, unless an operator sets another price.
        preference: an engine with a lower number comes first if a caller names none.
        asks: the request that the gateway sends, for the documentation.
    """

    title: str
    url: str | None
    price: str
    preference: int
    asks: str
