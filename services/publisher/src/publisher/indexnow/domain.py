"""The rules of IndexNow: public sites, and the pauses between attempts."""

import re
from datetime import timedelta
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

MOST_ATTEMPTS: Final = 6
_FIRST_PAUSE: Final = timedelta(minutes=5)
_LONGEST_PAUSE: Final = timedelta(days=1)
_NAME: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]")
_NOT_PUBLIC: Final = frozenset(
    {"localhost", "local", "internal", "invalid", "test", "example", "lan", "home", "arpa", "onion"}
)
"""Last labels of names without meaning on the internet (RFC 6761, 6762, 7686, 8375)."""


def is_public(origin: str) -> bool:
    """Whether the host of `https://blog.example.org` could be a public name; does not look it up."""
    host = (urlsplit(origin).hostname or "").rstrip(".")
    try:
        ip_address(host)
    except ValueError:
        return bool(_NAME.fullmatch(host)) and host.rpartition(".")[2] not in _NOT_PUBLIC
    return False


def pause_after(attempts: int) -> timedelta | None:
    """The pause after so many failed attempts: 5 and 20 minutes, 80, 5 hours, 21. None: give up."""
    if attempts >= MOST_ATTEMPTS:
        return None
    pause: timedelta = _FIRST_PAUSE * 4 ** (attempts - 1)
    return min(pause, _LONGEST_PAUSE)
