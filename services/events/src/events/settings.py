"""Settings of the service, from environment variables."""

from pydantic import Field, SecretStr

from chassis import KeyedSettings, WebAddress
from chassis.service_keys import PairKeysText, sent_to
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = Field(default=8017, ge=0, le=65535, description="port of the API and of live streams")
    http_connections: int = Field(
        default=2048, ge=16, le=65_536, description="open connections at most; each live stream takes one"
    )
    keep_events_days: int = Field(default=30, ge=1, le=365, description="days for which events are kept")
    orchestrator_url: WebAddress | None = Field(
        default=None,
        description="address of the orchestrator, which validates API keys; unset: only SERVICE_KEY opens the API",
    )
    events_to_orchestrator_key: PairKeysText = None

    gateway_url: WebAddress | None = Field(
        default=None,
        description="address of the gateway, which sends events to webhooks; unset: there are none",
    )
    events_to_gateway_key: PairKeysText = None
    monitor_to_events_key: PairKeysText = None

    @property
    def key_for_gateway(self) -> SecretStr:
        return sent_to("EVENTS_TO_GATEWAY_KEY", self.events_to_gateway_key, self.service_key)

    @property
    def key_for_orchestrator(self) -> SecretStr:
        return sent_to("EVENTS_TO_ORCHESTRATOR_KEY", self.events_to_orchestrator_key, self.service_key)
