"""Requests to search engines, and their answers and errors; one module for each of `integrations.search_engines`."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from gateway.providers.client import ProviderClient
from gateway.providers.search_results import SearchOutcome, SearchQuery
from integrations.discovery import find_entries

SearchEngineClient: TypeAlias = ProviderClient[SearchQuery, SearchOutcome]

SEARCH_ENGINE_CLIENTS: Final[Mapping[str, SearchEngineClient]] = dict(find_entries(__name__, ProviderClient))
"""Clients by name of the search engine."""
