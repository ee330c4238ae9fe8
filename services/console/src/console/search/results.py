"""What the search shows."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of the console that has the words, or what has the id."""

    title: str
    path: str
    brand: str = ""
    """Name of its brand; empty: it belongs to none."""
