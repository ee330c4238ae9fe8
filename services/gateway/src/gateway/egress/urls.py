"""Parses untrusted web addresses into one normal form."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

import httpx

from gateway.egress import addresses
from gateway.egress.errors import EgressRefusedError

MAX_LENGTH: Final = 4_096
_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_USER: Final = re.compile(r"[a-z]*://[^/?#]*@", re.IGNORECASE)
_UNWANTED: Final = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class EgressUrl:
    """A normalized URL."""

    scheme: str
    host: str
    """A name in ASCII without a final dot, or an address; IPv6 without brackets."""
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


def parse(text: str, *, after: EgressUrl | None = None) -> EgressUrl:
    """Parses an address, or a reference found at the URL `after`.

    Raises:
        EgressRefusedError: the address is not permitted, regardless of its host's addresses.
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
        raise _refused("must begin with http:// or https://")
    if url.userinfo or _USER.match(text):
        raise _refused("contains a user or a password; remove them")
    if port not in {None, _PORTS[url.scheme]}:
        raise EgressRefusedError(
            "port", f"Port {port} is refused: pages are read from port 80 (http) and 443 (https) alone"
        )
    return EgressUrl(url.scheme, _host(host), url.raw_path.decode("ascii") or "/")


def _host(host: str) -> str:
    host = host.lower()
    address = addresses.parse(host)
    if address is not None and "%" not in host:
        return str(address)
    name = host.removesuffix(".")
    if _NUMBER.fullmatch(name.rpartition(".")[2]) or addresses.parse(name) is not None:
        # Parsers disagree about 127.1, 2130706433, 0x7f.1 and 0177.0.0.1.
        raise _refused("has a numeric host in an ambiguous notation; write it like 192.0.2.7")
    if len(name) > 253 or not _NAME.fullmatch(name):  # noqa: PLR2004  (of a name, RFC 1035)
        raise _refused("has no host that could exist")
    return name


def _refused(what: str) -> EgressRefusedError:
    return EgressRefusedError("address", f"The address {what}")
