"""What an operator can set. Every field is an environment variable of the same name, upper-cased."""

from pydantic import Field

from chassis import KeyedSettings, WebAddress
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = 8013
    # Where readers find the feeds: all links and events are made from it.
    public_url: WebAddress = "http://127.0.0.1:8013"
    posts_per_page: int = Field(default=20, ge=1, le=100)
