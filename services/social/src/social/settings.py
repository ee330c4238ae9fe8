"""What an operator can set. Every field is an environment variable of the same name, upper-cased."""

from typing import Self

from pydantic import Field, SecretStr, model_validator

from chassis import KeyedSettings, WebAddress
from chassis.service_keys import PairKeysText, sent_to
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = 8013
    # Where readers find the feeds: all links and events are made from it.
    public_url: WebAddress = "http://127.0.0.1:8013"
    posts_per_page: int = Field(default=20, ge=1, le=100)
    # Address of the gateway, through which connected accounts are asked; unset: none is connected.
    gateway_url: WebAddress | None = None
    # Address of the orchestrator, which is asked whose an API key is; unset: the service key alone opens the API.
    orchestrator_url: WebAddress | None = None
    # What these are asked with; several with commas between them, of which the first is sent. Unset: SERVICE_KEY.
    social_to_gateway_key: PairKeysText = None
    social_to_orchestrator_key: PairKeysText = None

    @property
    def key_for_gateway(self) -> SecretStr:
        return sent_to("SOCIAL_TO_GATEWAY_KEY", self.social_to_gateway_key, self.service_key)

    @property
    def key_for_orchestrator(self) -> SecretStr:
        return sent_to("SOCIAL_TO_ORCHESTRATOR_KEY", self.social_to_orchestrator_key, self.service_key)

    @model_validator(mode="after")
    def _others_can_be_asked(self) -> Self:
        if self.gateway_url is not None:
            _ = self.key_for_gateway
        if self.orchestrator_url is not None:
            _ = self.key_for_orchestrator
        return self
