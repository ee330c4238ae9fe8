"""Checks links from strangers before public pages show them."""

import re
from typing import Final
from urllib.parse import urlsplit

_SCHEMES: Final = frozenset({"http", "https"})
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]|\s")


def public_link(address: str | None) -> str | None:
    """Return the address without credentials if a public page may link to it, else None.

    It needs http or https and a host. White space, control characters and backslashes are refused: browsers and libraries
    read different hosts after a backslash.
    """
    address = address or ""
    if _UNFIT.search(address):
        return None
    try:
        parts = urlsplit(address)
        fits = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    if not fits:
        return None
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else address
