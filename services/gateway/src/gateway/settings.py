"""Settings of the service, from environment variables."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import NoDecode

from chassis import AppSettings, KeyedSettings, WebAddress
from chassis.http.client import Peer
from chassis.service_keys import PairKeysText, sent_to
from gateway.credentials.keyring import split_keys
from gateway.egress.addresses import Network, networks

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000)]
Networks = Annotated[
    tuple[Network, ...],
    NoDecode,
    BeforeValidator(lambda given: networks(given) if isinstance(given, str) else given),
]
"""Separated by commas: `10.1.0.0/16, fd00:1::/32`."""


def _keys(keys: SecretStr | None) -> SecretStr | None:
    if keys is not None:
        split_keys(keys.get_secret_value())
    return keys


class Settings(AppSettings, KeyedSettings):
    orchestrator_to_gateway_key: PairKeysText = None
    research_to_gateway_key: PairKeysText = None
    publisher_to_gateway_key: PairKeysText = None
    social_to_gateway_key: PairKeysText = None
    monitor_to_gateway_key: PairKeysText = None
    events_to_gateway_key: PairKeysText = None
    orchestrator_url: WebAddress | None = None
    """Address of the orchestrator, which validates API keys; unset: only SERVICE_KEY opens the API."""
    gateway_to_orchestrator_key: PairKeysText = None
    http_port: int = Field(default=8015, ge=0, le=65535)
    """Port of the API."""
    cap_brand_day: Dollars = Decimal(2)
    """Cap of each brand for a day in UTC, in dollars, unless an operator sets another with `brandctl spend cap`."""
    cap_brand_month: Dollars = Decimal(30)
    """Cap of each brand for a calendar month in UTC, in dollars."""
    cap_all_day: Dollars = Decimal(10)
    """Cap of all brands together for a day, in dollars."""
    cap_all_month: Dollars = Decimal(100)
    """Cap of all brands together for a month, in dollars."""
    keep_ledger_days: int = Field(default=400, ge=32)
    """Days for which costs are kept, call by call."""
    robot_about: WebAddress | None = None
    """Address of a page that tells site owners who reads their pages and how to reach you; sent with each request.
    Unset: no page is read."""
    egress_reachable_networks: Networks = ()
    """Private networks that pages, accounts and providers may be in: `10.1.0.0/16, fd00:1::/32`."""
    page_max_bytes: int = Field(default=5_000_000, ge=10_000, le=20_000_000)
    """Largest page that is read, in bytes after decompression."""
    page_seconds: float = Field(default=20.0, gt=0, le=60)
    """Time limit for one page, in seconds, without the wait for its turn."""
    page_pause_seconds: float = Field(default=1.0, ge=0, le=3600)
    """Seconds between two requests to one host, over all replicas; a site's robots.txt may ask for more."""
    page_patience_seconds: float = Field(default=15.0, ge=0, le=60)
    """The longest wait for a turn at a host, in seconds; after it the caller gets `Retry-After`."""
    page_cache_megabytes: int = Field(default=500, ge=1)
    """Space for pages in the database; beyond it, the oldest are deleted."""
    gateway_keys: Annotated[SecretStr | None, AfterValidator(_keys)] = None
    """Keys that encrypt the providers' keys, separated by commas or lines: the first encrypts, all decrypt. `openssl rand -base64 32` makes one."""
    gateway_keys_file: Path | None = None
    """A file with these keys; changes take effect without a restart."""
    moves_key: Annotated[SecretStr | None, Field(min_length=32, max_length=200)] = None
    """What this installation and another one know, so that a brand takes its accounts along when it moves. Unset: accounts stay."""
    search_fresh_hours: float = Field(default=24, ge=0, le=168)
    """Hours for which search results are reused for the same search of the same brand."""
    model_fresh_hours: float = Field(default=24, ge=0, le=168)
    """Hours for which a model's answer is reused for the same request of the same brand."""
    brave_api_key: SecretStr | None = None
    """Key of the Brave search API, if no account is connected with `brandctl providers connect`."""
    searxng_url: WebAddress | None = None
    """Address of a SearXNG server, if no account is connected."""
    gateway_model_url: WebAddress | None = None
    """Address of a model's API, such as `https://api.openai.com/v1`, if no account is connected."""
    gateway_model_name: str | None = None
    """The model's name as its provider calls it; required with GATEWAY_MODEL_URL."""
    gateway_model_api_key: SecretStr | None = None
    """The key for this model."""
    gateway_model_read_price: Dollars = Decimal(0)
    """Dollars for a million tokens that the model reads; 0: they count as free."""
    gateway_model_written_price: Dollars = Decimal(0)
    """Dollars for a million tokens that the model writes; 0: they count as free."""
    oidc_issuer: WebAddress | None = None
    """The identity provider at which people of the console sign in. Unset: they sign in by password and passkey alone."""
    oidc_client_id: Annotated[str, Field(max_length=500)] | None = None
    """This installation's name at the identity provider."""
    oidc_client_secret: SecretStr | None = None
    """Its password there; unset: it has none (a public client)."""

    @model_validator(mode="after")
    def _identity_provider_knows_us(self) -> Self:
        if self.oidc_issuer is not None and not self.oidc_client_id:
            raise ValueError("OIDC_ISSUER is set, so set OIDC_CLIENT_ID too, as the identity provider has it")
        return self

    @property
    def orchestrator(self) -> Peer | None:
        """The orchestrator and the key for it; None without its address.

        Raises:
            ValueError: there is no key for it; the message names the setting.
        """
        if self.orchestrator_url is None:
            return None
        key = sent_to("GATEWAY_TO_ORCHESTRATOR_KEY", self.gateway_to_orchestrator_key, self.service_key)
        return Peer("the orchestrator", self.orchestrator_url, "ORCHESTRATOR_URL", key)

    @model_validator(mode="after")
    def _orchestrator_can_be_asked(self) -> Self:
        _ = self.orchestrator
        return self

    @model_validator(mode="after")
    def _model_has_a_name(self) -> Self:
        if self.gateway_model_url is not None and not self.gateway_model_name:
            raise ValueError(
                "GATEWAY_MODEL_URL is set, so set GATEWAY_MODEL_NAME too: the model's name as its provider calls it"
            )
        return self
