"""Compares page addresses: host, site, and equality apart from tracking. Pure."""

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

_TRACKING: Final = re.compile(
    r"utm_\w+|gclid|gbraid|wbraid|fbclid|msclkid|dclid|yclid|igshid|mc_[ce]id|ref_src|_hs(?:enc|mi)"
)


def host_of(address: str) -> str:
    """Return the host in lower case without a final dot; empty if the address has none."""
    try:
        return (urlsplit(address).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def site_of(address: str) -> str:
    """Return the host without `www.`."""
    return host_of(address).removeprefix("www.")


def without_tracking(address: str) -> str:
    """Return the address without its fragment and its tracking parameters."""
    try:
        parts = urlsplit(address)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return address
    kept = [(name, value) for name, value in parameters if not _TRACKING.fullmatch(name.lower())]
    query = urlencode(kept) if len(kept) < len(parameters) else parts.query
    return parts._replace(query=query, fragment="").geturl()


def page_key(address: str) -> str:
    """Return a key that is equal for addresses of one page: it ignores scheme, `www.`, a final slash and tracking."""
    plain = without_tracking(address)
    try:
        parts = urlsplit(plain)
    except ValueError:
        return plain
    return f"{site_of(plain)}{parts.path.rstrip('/')}?{parts.query}"
