"""Provider accounts from environment variables, in addition to those that operators connect."""

from collections.abc import Iterator
from typing import Any

from gateway.credentials import ProviderAccount
from gateway.providers import ModelSettings, search_settings
from gateway.providers.account_settings import AccountSettings
from gateway.settings import Settings


def accounts(settings: Settings) -> Iterator[ProviderAccount]:
    if settings.brave_api_key is not None:
        yield ProviderAccount("brave", "brave", _stored(search_settings("brave", {})), settings.brave_api_key)
    if settings.searxng_url is not None:
        searxng = search_settings("searxng", {"url": settings.searxng_url})
        yield ProviderAccount("searxng", "searxng", _stored(searxng), None)
    if settings.gateway_model_url is not None and settings.gateway_model_name:
        model = ModelSettings(
            url=settings.gateway_model_url,
            model=settings.gateway_model_name,
            read_price=settings.gateway_model_read_price,
            written_price=settings.gateway_model_written_price,
        )
        yield ProviderAccount("model", "model", _stored(model), settings.gateway_model_api_key)


def _stored(settings: AccountSettings) -> dict[str, Any]:
    return settings.model_dump(mode="json")
