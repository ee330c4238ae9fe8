"""What a brand's sources are. Pure."""

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
    """The address of a page of the web, without the part behind `#`.

    Raises:
        ValueError: it is none, or one that the gateway would not read.
    """
    problem = "is no address of a page; write it like https://example.org/page"
    if _UNWANTED.search(address):
        raise ValueError("has spaces, control characters or backslashes in it; encode them with %")
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
        raise ValueError("names a user or a password, which have no place in it; leave them out")
    if port not in {None, _PORTS[parts.scheme]}:
        raise ValueError("names a port; pages are read from port 80 (http) and 443 (https) alone")
    return parts._replace(fragment="").geturl()


def checked_host(host: str) -> str:
    """A host in small letters and ASCII.

    Raises:
        ValueError: it is none.
    """
    problem = "is no host; write it like example.org, without https:// and without a path"
    host = host.strip().removesuffix(".")
    if not is_host(host):
        raise ValueError(problem)
    plain = host.encode("idna").decode("ascii").lower()
    if not _HOST.fullmatch(plain):
        raise ValueError(problem)
    return plain


def _each_once(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


Address = Annotated[str, Field(min_length=1, max_length=MAX_ADDRESS), AfterValidator(checked_address)]
Host = Annotated[str, Field(min_length=1, max_length=253), AfterValidator(checked_host)]
Hosts = Annotated[tuple[Host, ...], Field(max_length=MAX_HOSTS), AfterValidator(_each_once)]


class WebSearch(BaseModel):
    """How the web is searched."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    language: Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$", examples=["en"])] | None = None
    """Of the pages, as in `en` or `pt-BR`; null: any."""
    freshness: Literal["day", "week", "month", "year"] | None = None
    """Pages no older than this; null: of any age."""
    queries: Annotated[int, Field(ge=1, le=MAX_QUERIES)] = 2
    """Searches for one keyword, each of which may cost money."""
    proposals: bool = False
    """Whether a model proposes all but the first of them, which costs one call of the model for each keyword."""


class Sources(BaseModel):
    """Where research looks for a brand. Fields left out take their defaults: the folder alone."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    folder: bool = True
    """Whether the documents of the folder `CORPUS` are searched."""
    web: WebSearch | None = None
    """How the web is searched; null: it is not."""
    urls: Annotated[tuple[Address, ...], Field(max_length=MAX_URLS), AfterValidator(_each_once)] = ()
    """Pages that are read for every keyword."""
    feeds: Annotated[tuple[Address, ...], Field(max_length=MAX_FEEDS), AfterValidator(_each_once)] = ()
    """Feeds (RSS, Atom, JSON Feed) whose entries may be read."""
    blocked_hosts: Hosts = ()
    """Nothing of these hosts, or of hosts below them, is read."""
    preferred_hosts: Hosts = ()
    """Pages of these hosts, or of hosts below them, come first, and more of them may be sources."""
    own_hosts: Hosts = ()
    """Pages of these hosts, or of hosts below them, are the brand's own: a digest may print whole paragraphs of them."""

    @property
    def uses_web(self) -> bool:
        """Whether anything has to be read through the gateway."""
        return self.web is not None or bool(self.urls or self.feeds)

    @property
    def fingerprint(self) -> str:
        """The same for the same sources; empty for the folder alone."""
        if self == Sources():
            return ""
        # Fields that are not set are left out, so that a new one changes nothing for who does not use it.
        return hashlib.sha256(self.model_dump_json(exclude_defaults=True).encode()).hexdigest()[:32]

    def blocks(self, host: str) -> bool:
        return _is_below(host, self.blocked_hosts)

    def prefers(self, host: str) -> bool:
        return _is_below(host, self.preferred_hosts)

    def owns(self, host: str) -> bool:
        return _is_below(host, self.own_hosts)


def _is_below(host: str, hosts: tuple[str, ...]) -> bool:
    return any(host == each or host.endswith(f".{each}") for each in hosts)
