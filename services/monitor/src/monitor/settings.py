"""Settings of the service, from environment variables."""

from messaging import ServiceSettings


class Settings(ServiceSettings):
    http_port: int = 8014
