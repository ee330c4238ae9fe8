"""Kinds of provider accounts: search engines and model providers."""

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from integrations.model_providers import MODEL_PROVIDERS
from integrations.search_engines import SEARCH_ENGINES

PROVIDER_KINDS: Final = (*SEARCH_ENGINES, *MODEL_PROVIDERS)

if TYPE_CHECKING:
    ProviderKind: TypeAlias = str
else:
    ProviderKind = Literal[PROVIDER_KINDS]
    """For the choices of commands and APIs."""
