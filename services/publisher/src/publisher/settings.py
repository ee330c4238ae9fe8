"""The publisher's settings. Each field is an environment variable of the same name, upper-cased."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from chassis import KeyedSettings, WebAddress, addresses
from chassis.service_keys import PairKeysText, sent_to
from messaging import ServiceSettings


def _replica_address(address: SecretStr | None) -> SecretStr | None:
    if address is not None:
        addresses.parse(
            address.get_secret_value(),
            schemes={"postgresql", "postgres"},
            example="postgresql://user:password@standby:5432/name",
        )
    return address


ReplicaAddress = Annotated[SecretStr | None, AfterValidator(_replica_address)]


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = 8012
    """Port of the API and of the sites."""
    public_url: WebAddress = "http://127.0.0.1:8012"
    """Public address of the sites, for all links, feeds and events."""
    publisher_to_orchestrator_key: PairKeysText = None
    orchestrator_url: WebAddress = "http://127.0.0.1:8010"
    """Address of the orchestrator, which has the articles and validates API keys."""
    gateway_url: WebAddress | None = None
    """Address of the gateway, which keeps the accounts; unset: no account is available."""
    publisher_to_gateway_key: PairKeysText = None
    publish_folder: Path | None = None
    """Folder for articles as files, for brands with such a target; unset: files are off."""
    monitor_to_publisher_key: PairKeysText = None
    content_timeout_seconds: float = Field(default=15.0, gt=0, le=300)
    """Time limit for reading one article, from connecting to its last byte."""
    content_max_bytes: int = Field(default=1_000_000, ge=10_000)
    """Largest JSON of an article; a larger one becomes a dead letter."""
    covers_max_megabytes: int = Field(default=500, ge=1, le=100_000)
    """Space for covers in the database; beyond it, the oldest are deleted and drawn again on request."""
    newsletter_sign_ups_per_hour: int = Field(default=100, ge=1, le=100_000)
    """Sign-ups for a brand's newsletter within an hour; all brands together take ten times as many."""
    replica_database_url: ReplicaAddress = None
    """Address of a streaming standby of the database, from which sites are read; unset: they are read from the primary."""
    replica_lag_seconds: float = Field(default=10.0, ge=3, le=3600)
    """How old what visitors see may be; if the standby is further behind, sites are read from the primary."""
    articles_per_page: int = Field(default=12, ge=1, le=100)
    """Articles on a list page of a site."""

    @property
    def key_for_orchestrator(self) -> SecretStr:
        return sent_to("PUBLISHER_TO_ORCHESTRATOR_KEY", self.publisher_to_orchestrator_key, self.service_key)

    @property
    def key_for_gateway(self) -> SecretStr:
        return sent_to("PUBLISHER_TO_GATEWAY_KEY", self.publisher_to_gateway_key, self.service_key)

    @model_validator(mode="after")
    def _others_can_be_asked(self) -> Self:
        _ = self.key_for_orchestrator
        if self.gateway_url is not None:
            _ = self.key_for_gateway
        return self
