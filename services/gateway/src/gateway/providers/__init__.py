"""One module per provider: its requests, prices, limits and errors."""

from collections.abc import Mapping
from typing import Final

from gateway.providers.brave import BraveSettings
from gateway.providers.chat import ModelSettings
from gateway.providers.http_client import AccountSettings
from gateway.providers.searxng import SearxngSettings

KINDS: Final[Mapping[str, type[AccountSettings]]] = {
    "brave": BraveSettings,
    "searxng": SearxngSettings,
    "model": ModelSettings,
}
"""Settings of an account, by kind."""

__all__ = ["KINDS", "AccountSettings", "BraveSettings", "ModelSettings", "SearxngSettings"]
