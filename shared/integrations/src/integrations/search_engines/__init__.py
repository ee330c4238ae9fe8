"""Search engines: where research looks for pages."""

from collections.abc import Mapping
from typing import Final

from integrations.discovery import find_entries
from integrations.search_engines.search_engine import SearchEngine

SEARCH_ENGINES: Final[Mapping[str, SearchEngine]] = dict(
    sorted(find_entries(__name__, SearchEngine), key=lambda entry: entry[1].preference)
)
"""Search engines by name, the preferred ones first."""

__all__ = ["SEARCH_ENGINES", "SearchEngine"]
