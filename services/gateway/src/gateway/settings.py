"""Settings of the service, from environment variables."""

from pydantic import Field

from chassis import AppSettings, KeyedSettings


class Settings(AppSettings, KeyedSettings):
    http_port: int = Field(default=8015, ge=0, le=65535)
