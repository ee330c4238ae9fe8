"""The source settings of a brand, and their checks. Pure."""

import hashlib
import re
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from chassis.hosts import explain_bad_host, is_host

MAX_URLS: Final = 30
MAX_FEEDS: Final = 10
MAX_HOSTS: Final = 200
MAX_QUERIES: Final = 3
MAX_ADDRESS: Final = 2000

_UNWANTED: Final = re.compile(r"[\x00-\x20\x7f-\x9f\\]")
_HOST: Final = re.compile(r"(?=.{1,253}$)(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))+")
_PORTS: Final = {"http": 80, "https": 443}


def checked_address(address: str) -> str:
    """Return the address of a web page without its fragment.

    Raises:
        ValueError: it is not an address, or the gateway would not read it.
    """
    problem = "is not an address of a page; write it like https://example.org/page"
    if _UNWANTED.search(address):
        raise ValueError("contains spaces, control characters or backslashes; encode them with %")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise ValueError(problem) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(problem)
    if not is_host(parts.hostname):
        raise ValueError(explain_bad_host(parts.hostname))
    if "@" in parts.netloc:
        raise ValueError("contains a user or a password; leave them out")
    if port not in {None, _PORTS[parts.scheme]}:
        raise ValueError("names a port; research reads only from the ports 80 (http) and 443 (https)")
    return parts._replace(fragment="").geturl()


def checked_host(host: str) -> str:
    """Return a host in lower case and ASCII.

    Raises:
        ValueError: it is not a host.
    """
    problem = "is not a host; write it like example.org, without https:// and without a path"
    host = host.strip().removesuffix(".")
    if not is_host(host):
        raise ValueError(problem)
    plain = host.encode("idna").decode("ascii").lower()
    if not _HOST.fullmatch(plain):
        raise ValueError(problem)
    return plain


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


Address = Annotated[str, Field(min_length=1, max_length=MAX_ADDRESS), AfterValidator(checked_address)]
Host = Annotated[str, Field(min_length=1, max_length=253), AfterValidator(checked_host)]
Hosts = Annotated[tuple[Host, ...], Field(max_length=MAX_HOSTS), AfterValidator(_unique)]


class WebSearchSettings(BaseModel):
    """Settings of the web searches for a brand."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    language: Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$", examples=["en"])] | None = None
    """Language of the pages, such as `en` or `pt-BR`; null: any."""
    freshness: Literal["day", "week", "month", "year"] | None = None
    """Maximum age of the pages; null: any."""
    queries: Annotated[int, Field(ge=1, le=MAX_QUERIES)] = 2
    """Number of searches for one keyword; each may cost money."""
    proposals: bool = False
    """Whether a model proposes all queries but the first, at the cost of one model call per keyword."""


class SourceSettings(BaseModel):
    """The places that research searches for a brand. Omitted fields take their defaults: the folder alone."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    folder: bool = True
    """Whether research searches the folder `CORPUS`."""
    web: WebSearchSettings | None = None
    """Settings of web searches; null: none."""
    urls: Annotated[tuple[Address, ...], Field(max_length=MAX_URLS), AfterValidator(_unique)] = ()
    """Pages to read for every keyword."""
    feeds: Annotated[tuple[Address, ...], Field(max_length=MAX_FEEDS), AfterValidator(_unique)] = ()
    """Feeds (RSS, Atom, JSON Feed) with entries that research may read."""
    blocked_hosts: Hosts = ()
    """Research reads nothing from these hosts and their subdomains."""
    preferred_hosts: Hosts = ()
    """Pages of these hosts and their subdomains come first, and more of them may become sources."""
    own_hosts: Hosts = ()
    """Pages of these hosts and their subdomains are the brand's own: a digest may print whole paragraphs of them."""

    @property
    def uses_web(self) -> bool:
        """Whether research needs the gateway for these settings."""
        return self.web is not None or bool(self.urls or self.feeds)

    @property
    def fingerprint(self) -> str:
        """A hash of the settings; empty for the folder alone."""
        if self == SourceSettings():
            return ""
        # Without unset fields, so that a new field does not change the hash of existing settings.
        return hashlib.sha256(self.model_dump_json(exclude_defaults=True).encode()).hexdigest()[:32]

    def blocks(self, host: str) -> bool:
        return _is_below(host, self.blocked_hosts)

    def prefers(self, host: str) -> bool:
        return _is_below(host, self.preferred_hosts)

    def owns(self, host: str) -> bool:
        return _is_below(host, self.own_hosts)


def _is_below(host: str, hosts: tuple[str, ...]) -> bool:
    return any(host == each or host.endswith(f".{each}") for each in hosts)
