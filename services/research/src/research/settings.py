"""Settings of the service, from environment variables."""

from typing import Self

from pydantic import DirectoryPath, Field, SecretStr, model_validator

from chassis import KeyedSettings, WebAddress
from chassis.service_keys import PairKeysText, sent_to
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = Field(default=8011, description="port of the API")
    corpus: DirectoryPath = Field(
        description="folder of .md, .html, .rst, .adoc, .txt and .pdf documents to research in"
    )
    corpus_rescan_seconds: float = Field(
        default=300.0, gt=0, description="seconds between scans for changed documents"
    )
    research_to_gateway_key: PairKeysText = None
    orchestrator_to_research_key: PairKeysText = None
    monitor_to_research_key: PairKeysText = None
    orchestrator_url: WebAddress | None = Field(
        default=None,
        description="address of the orchestrator, which validates API keys; unset: only SERVICE_KEY opens the API",
    )
    research_to_orchestrator_key: PairKeysText = None
    gateway_url: WebAddress | None = Field(
        default=None,
        description="address of the gateway, through which research reads the web; unset: no web",
    )
    model_name: str = Field(
        default="model",
        min_length=1,
        max_length=200,
        description="name at the gateway of the model that proposes searches",
    )

    @property
    def key_for_gateway(self) -> SecretStr:
        return sent_to("RESEARCH_TO_GATEWAY_KEY", self.research_to_gateway_key, self.service_key)

    @property
    def key_for_orchestrator(self) -> SecretStr:
        return sent_to("RESEARCH_TO_ORCHESTRATOR_KEY", self.research_to_orchestrator_key, self.service_key)

    @model_validator(mode="after")
    def _others_can_be_asked(self) -> Self:
        if self.gateway_url is not None:
            _ = self.key_for_gateway
        if self.orchestrator_url is not None:
            _ = self.key_for_orchestrator
        return self
