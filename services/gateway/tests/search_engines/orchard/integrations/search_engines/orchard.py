"""Orchard, an invented search engine: the first file of the recipe in CONTRIBUTING.md."""

from typing import Final

from integrations.search_engines.search_engine import SearchEngine

ORCHARD: Final = SearchEngine(
    title="Orchard",
    url="https://api.orchard.example",
    price="0.002",
    preference=15,
    asks="`POST /find` of Orchard",
)
