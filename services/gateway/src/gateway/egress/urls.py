"""Addresses of pages, as strangers write them, and in the one form in which we ask for them."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

import httpx

from gateway.egress import addresses
from gateway.egress.errors import RefusedError

MAX_LENGTH: Final = 4_096
_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_USER: Final = re.compile(r"[a-z]*://[^/?#]*@", re.IGNORECASE)
_UNWANTED: Final = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes."""

    scheme: str
    host: str
    """A name in ASCII without a dot at its end, or an address; of IPv6 without brackets."""
    path: str
    """With the query, encoded."""

    @property
    def port(self) -> int:
        return _PORTS[self.scheme]

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"


def parse(text: str, *, after: Target | None = None) -> Target:
    """The target of an address, or of a reference found at `after`.

    Raises:
        RefusedError: it is none that may be asked for, whatever its host turns out to be.
    """
    text = text.strip()
    if after is not None:
        text = urljoin(str(after), text)
    if len(text) > MAX_LENGTH:
        raise _refused(f"is longer than {MAX_LENGTH:,} characters")
    if _UNWANTED.search(text):
        raise _refused("has spaces, control characters or backslashes in it; encode them with %")
    try:
        url = httpx.URL(text)
        host = url.raw_host.decode("ascii")
        port = url.port
    except (httpx.InvalidURL, ValueError):
        raise _refused("cannot be understood; write it like https://example.org/page") from None
    if url.scheme not in _PORTS:
        raise _refused("is not one of the web: it must begin with http:// or https://")
    if url.userinfo or _USER.match(text):
        raise _refused("names a user or a password, which have no place in it")
    if port not in {None, _PORTS[url.scheme]}:
        raise RefusedError(
            "port", f"Port {port} is refused: pages are read from port 80 (http) and 443 (https) alone"
        )
    return Target(url.scheme, _host(host), url.raw_path.decode("ascii") or "/")


def _host(host: str) -> str:
    host = host.lower()
    address = addresses.parse(host)
    if address is not None and "%" not in host:
        return str(address)
    name = host.removesuffix(".")
    if _NUMBER.fullmatch(name.rpartition(".")[2]) or addresses.parse(name) is not None:
        # 127.1, 2130706433, 0x7f.1, 0177.0.0.1: what they mean depends on who reads them.
        raise _refused(
            "has an address of numbers in a notation that not everybody reads alike; write 192.0.2.7"
        )
    if len(name) > 253 or not _NAME.fullmatch(name):  # noqa: PLR2004  (of a name, RFC 1035)
        raise _refused("has no host that could exist")
    return name


def _refused(what: str) -> RefusedError:
    return RefusedError("address", f"The address {what}")
