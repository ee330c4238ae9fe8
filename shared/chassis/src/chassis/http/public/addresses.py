"""Addresses of public pages. Paths begin with the path of PUBLIC_URL, as a proxy may serve the site below one."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class PublicUrls:
    """What all of them have; a service adds its own pages in a subclass."""

    origin: str
    """`https://example.org`"""
    prefix: str
    """Empty, or `/news`."""

    @classmethod
    def under(cls, public_url: str) -> Self:
        parts = urlsplit(public_url)
        # A user's name and password are for whoever configured them, not for every visitor.
        return cls(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.rstrip("/"))

    def absolute(self, path: str) -> str:
        return self.origin + path

    @property
    def root(self) -> str:
        return f"{self.prefix}/"

    def asset(self, name: str) -> str:
        return f"{self.prefix}/assets/{name}"
