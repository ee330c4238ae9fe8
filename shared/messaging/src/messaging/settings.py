"""What every service is configured with; a service adds its own fields in a subclass."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class DatabaseSettings(BaseSettings):
    """All that a migration needs to know: neither the broker nor the service key."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    database_url: SecretStr
    """`postgresql://user:password@host:5432/name`, this service's own database."""


class ServiceSettings(DatabaseSettings):
    """Read from environment variables of the same names in upper case."""

    rabbitmq_url: SecretStr
    """`amqp://user:password@host:5672/vhost`."""
    service_key: Annotated[SecretStr, Field(min_length=16)]
    """The key that callers of the API send as `X-Service-Key`, and that services send each other."""
    http_host: str = "127.0.0.1"
    http_port: Annotated[int, Field(ge=0, le=65535)] = 8000
    database_connections: Annotated[int, Field(ge=2, le=100)] = 10
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    otel_exporter_otlp_endpoint: str | None = None
    """`http://host:4318`; spans are sent there as OTLP over HTTP. Unset: no tracing."""
    shutdown_grace_seconds: Annotated[float, Field(ge=0)] = 20.0
    """How long work in hand may take to finish once asked to stop."""
    max_attempts: Annotated[int, Field(ge=1)] | None = None
    """Attempts before a message is dead-lettered; unset: what each queue's policy says (5)."""
    retry_base_seconds: Annotated[float, Field(gt=0)] | None = None
    """Wait before the second attempt, doubled for each further one; unset: what the policy says (30)."""
