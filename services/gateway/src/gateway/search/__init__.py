"""Web search, in one form for every provider."""

from gateway.search.web_search import WebSearch

__all__ = ["WebSearch"]
