"""Addresses of the console's own pages, below the path of CONSOLE_URL."""

from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import quote, urlencode, urlsplit

HOME: Final = "/"


@dataclass(frozen=True, slots=True)
class ConsoleUrls:
    origin: str
    prefix: str
    """Empty, or `/console`."""

    @classmethod
    def under(cls, url: str) -> Self:
        parts = urlsplit(url)
        return cls(f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/"))

    @property
    def is_secure(self) -> bool:
        return self.origin.startswith("https:")

    def path(self, path: str) -> str:
        """Returns the path that a browser asks for, of a page such as `/b/acme`."""
        return self.prefix + path

    def absolute(self, path: str) -> str:
        return self.origin + self.path(path)


def chain_path(correlation_id: str) -> str:
    """Returns the page of a chain; of an id that fits into no path, the messages with that id."""
    if "/" in correlation_id or correlation_id in {".", ".."}:
        return f"/messages?{urlencode({'chain': correlation_id})}"
    return f"/chains/{quote(correlation_id, safe='')}"


def safe_next(given: str) -> str:
    """Returns a path of the console to go on to; the home page for anything that could lead elsewhere."""
    fits = given.startswith("/") and not given.startswith(("//", "/\\"))
    if not fits or "\\" in given or " " in given or not given.isprintable():
        return HOME
    parts = urlsplit(given)
    return HOME if parts.scheme or parts.netloc else given
