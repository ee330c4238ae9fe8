"""Settings of the service. Each field is an environment variable of the same name in upper case."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from chassis import KeyedSettings, WebAddress
from chassis.service_keys import PairKeysText, sent_to
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = 8013
    """Port of the API and of the feeds."""
    public_url: WebAddress = "http://127.0.0.1:8013"
    """Public address of the feeds, for all links and events."""
    posts_per_page: int = Field(default=20, ge=1, le=100)
    """Posts on a page of a feed."""
    gateway_url: WebAddress | None = None
    """Address of the gateway, which has the accounts on other platforms; unset: no posts there."""
    social_to_gateway_key: PairKeysText = None
    social_to_orchestrator_key: PairKeysText = None
    monitor_to_social_key: PairKeysText = None
    orchestrator_url: WebAddress | None = None
    """Address of the orchestrator. It validates API keys, and says whether the brand of a due post is paused or its page taken
    down; unset: only SERVICE_KEY opens the API, and posts go out without these checks."""
    pages_url: WebAddress | None = None
    """Internal address of the publisher, which serves the pictures of articles; unset: channels that upload pictures get none."""
    post_retry_seconds: Annotated[tuple[float, ...], NoDecode] = (60.0, 300.0, 1800.0)
    """Seconds between attempts to send a post; after the last attempt it fails."""
    post_tick_seconds: float = Field(default=5.0, ge=0.05, le=60)
    """Longest delay, in seconds, until a replica sees a time that another replica set."""
    posts_at_once: int = Field(default=6, ge=1, le=100)
    """Most posts of one channel that are sent at the same time; a channel that hangs does not delay the others."""

    @field_validator("post_retry_seconds", mode="before")
    @classmethod
    def _separated(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value

    @property
    def post_pauses(self) -> tuple[timedelta, ...]:
        return tuple(timedelta(seconds=each) for each in self.post_retry_seconds)

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
