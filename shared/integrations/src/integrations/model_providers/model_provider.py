"""The facts about a provider of models."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelProvider:
    """Providers of models with the same API; the module's name is the kind of their accounts.

    Args:
        asks: the request that the gateway sends, for the documentation.
    """

    asks: str
