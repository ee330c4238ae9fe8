"""Ids in addresses and forms, which may be anything."""

from uuid import UUID


def parse_id(text: str) -> UUID | None:
    """Returns the id; None for a text that is none."""
    try:
        return UUID(text)
    except ValueError:
        return None
