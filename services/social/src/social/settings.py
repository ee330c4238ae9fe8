"""What an operator can set. Every field is an environment variable of the same name, upper-cased."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from messaging import ServiceSettings


def _web_address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(
            f"{url!r} is no web address; write it like https://example.org or http://127.0.0.1:8013"
        )
    return url.rstrip("/")


WebAddress = Annotated[str, AfterValidator(_web_address)]


class Settings(ServiceSettings):
    http_port: int = 8013
    # Where readers find the feeds: all links and events are made from it.
    public_url: WebAddress = "http://127.0.0.1:8013"
    posts_per_page: int = Field(default=20, ge=1, le=100)
