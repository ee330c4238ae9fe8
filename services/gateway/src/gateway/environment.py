"""Provider accounts from environment variables, in addition to those that operators connect."""

from collections.abc import Iterator

from gateway.credentials import ProviderAccount
from gateway.providers import BraveSettings, ModelSettings, SearxngSettings
from gateway.settings import Settings


def accounts(settings: Settings) -> Iterator[ProviderAccount]:
    if settings.brave_api_key is not None:
        yield ProviderAccount(
            "brave", "brave", BraveSettings().model_dump(mode="json"), settings.brave_api_key
        )
    if settings.searxng_url is not None:
        searxng = SearxngSettings(url=settings.searxng_url)
        yield ProviderAccount("searxng", "searxng", searxng.model_dump(mode="json"), None)
    if settings.gateway_model_url is not None and settings.gateway_model_name:
        model = ModelSettings(
            url=settings.gateway_model_url,
            model=settings.gateway_model_name,
            read_price=settings.gateway_model_read_price,
            written_price=settings.gateway_model_written_price,
        )
        yield ProviderAccount("model", "model", model.model_dump(mode="json"), settings.gateway_model_api_key)
