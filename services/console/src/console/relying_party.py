"""The site that passkeys belong to."""

import ipaddress
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from console.urls import ConsoleUrls


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The site for which passkeys are made and asked."""

    id: str
    """A host name."""
    origin: str

    @classmethod
    def of(cls, urls: ConsoleUrls, host_header: str) -> Self | None:
        """Returns the site; None where browsers have no passkeys: over plain HTTP except to localhost, and for IP addresses."""
        origin = urls.origin if urls.is_secure else f"http://{host_header}"
        try:
            host = urlsplit(origin).hostname or ""
        except ValueError:
            return None
        if not urls.is_secure and host != "localhost":
            return None
        return None if _is_address(host) else cls(host, origin)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
