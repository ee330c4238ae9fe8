"""Settings of the service, from environment variables."""

from pydantic import Field

from chassis import KeyedSettings
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = Field(default=8014, ge=0, le=65535)
    retention_days: int = Field(
        default=30, ge=1, description="how long settled dead letters are kept; open ones are kept for good"
    )
