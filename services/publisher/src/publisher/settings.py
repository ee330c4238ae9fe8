"""What an operator can set. Every field is an environment variable of the same name, upper-cased."""

from pydantic import Field

from chassis import KeyedSettings, WebAddress
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = 8012
    # Where readers find the sites: all links, feeds and events are made from it.
    public_url: WebAddress = "http://127.0.0.1:8012"
    orchestrator_url: WebAddress = "http://127.0.0.1:8010"
    # Reading one article, from connecting to its last byte.
    content_timeout_seconds: float = Field(default=15.0, gt=0, le=300)
    content_max_bytes: int = Field(default=1_000_000, ge=10_000)
    # Pictures of articles that are kept in the database; those drawn first make room, and are drawn again when asked for.
    covers_max_megabytes: int = Field(default=500, ge=1, le=100_000)
    articles_per_page: int = Field(default=12, ge=1, le=100)
