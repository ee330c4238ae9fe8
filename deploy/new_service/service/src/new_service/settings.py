"""Settings of the service, from environment variables."""

from pydantic import Field

from chassis import KeyedSettings
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = Field(default=8099, ge=0, le=65535)
