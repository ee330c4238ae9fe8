"""Requests to models, and their answers and errors; one module for each of `integrations.model_providers`."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from gateway.providers.client import ProviderClient
from gateway.providers.completion import Completion
from integrations.discovery import find_entries

ModelClient: TypeAlias = ProviderClient[Mapping[str, Any], Completion]
"""The question is a request as OpenAI's API takes it."""

MODEL_CLIENTS: Final[Mapping[str, ModelClient]] = dict(find_entries(__name__, ProviderClient))
"""Clients by name of the model provider."""
