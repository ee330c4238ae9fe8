"""One file for each provider: what it is asked, what it costs, its limits, and its errors in our words."""

from collections.abc import Mapping
from typing import Final

from gateway.providers.asking import AccountSettings
from gateway.providers.brave import BraveSettings
from gateway.providers.chat import ModelSettings
from gateway.providers.searxng import SearxngSettings

KINDS: Final[Mapping[str, type[AccountSettings]]] = {
    "brave": BraveSettings,
    "searxng": SearxngSettings,
    "model": ModelSettings,
}
"""What the settings of an account are, by kind."""

__all__ = ["KINDS", "AccountSettings", "BraveSettings", "ModelSettings", "SearxngSettings"]
