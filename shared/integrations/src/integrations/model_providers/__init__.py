"""Providers of the models that write."""

from collections.abc import Mapping
from typing import Final

from integrations.discovery import find_entries
from integrations.model_providers.model_provider import ModelProvider

MODEL_PROVIDERS: Final[Mapping[str, ModelProvider]] = dict(find_entries(__name__, ModelProvider))
"""Model providers by name."""

__all__ = ["MODEL_PROVIDERS", "ModelProvider"]
