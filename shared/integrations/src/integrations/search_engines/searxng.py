"""SearXNG, https://docs.searxng.org/dev/search_api.html: the operator's own instance, free of charge."""

from typing import Final

from integrations.search_engines.search_engine import SearchEngine

SEARXNG: Final = SearchEngine(
    title="SearXNG",
    url=None,
    price="0",
    preference=20,
    asks="`GET /search?format=json` of a SearXNG; `json` must be among its `search: formats:`",
)
