"""Brave Search, https://api-dashboard.search.brave.com/documentation."""

from typing import Final

from integrations.search_engines.search_engine import SearchEngine

BRAVE: Final = SearchEngine(
    title="Brave Search",
    url="https://api.search.brave.com",
    price="0.005",
    preference=10,
    asks="`GET /res/v1/web/search` of Brave Search",
)
