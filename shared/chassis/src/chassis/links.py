"""Links that strangers give and the public follows."""

import re
from typing import Final
from urllib.parse import urlsplit

_SCHEMES: Final = frozenset({"http", "https"})
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f\\]|\s")


def public_link(address: str | None) -> str | None:
    """The address if a public page may link to it, without a user's name and password; None if it may not.

    It is one of http or https with a host, and means the same to everybody: no white space, no control character, and no
    backslash, behind which a browser sees another host than a library does.
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
