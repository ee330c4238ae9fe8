"""Settings of the service, from environment variables."""

from typing import Self

from pydantic import DirectoryPath, Field, SecretStr, model_validator

from chassis import KeyedSettings, WebAddress
from chassis.service_keys import PairKeysText, sent_to
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = 8011
    corpus: DirectoryPath = Field(
        description="folder of .md, .html, .rst, .adoc, .txt and .pdf documents to research in"
    )
    corpus_rescan_seconds: float = Field(
        default=300.0, gt=0, description="pause between looks for changed documents"
    )
    research_to_gateway_key: PairKeysText = Field(
        default=None,
        description="what the gateway is asked with; several with commas, of which the first is sent; unset: SERVICE_KEY",
    )
    orchestrator_to_research_key: PairKeysText = Field(
        default=None,
        description="what the orchestrator asks with; each of several opens what it reads, and nothing else",
    )
    orchestrator_url: WebAddress | None = Field(
        default=None,
        description="address of the orchestrator, which is asked whose an API key is; unset: SERVICE_KEY alone opens",
    )
    research_to_orchestrator_key: PairKeysText = Field(
        default=None,
        description="what it is asked with; several with commas, of which the first is sent; unset: SERVICE_KEY",
    )
    gateway_url: WebAddress | None = Field(
        default=None,
        description="address of the gateway, through which the web is read; unset: it is not read",
    )
    model_name: str = Field(
        default="model",
        min_length=1,
        max_length=200,
        description="the model that proposes searches to brands that want that, as the gateway calls it",
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
