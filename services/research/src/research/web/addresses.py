"""Addresses of pages: which of them are the same page, and whose they are. Pure."""

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

_TRACKING: Final = re.compile(
    r"utm_\w+|gclid|gbraid|wbraid|fbclid|msclkid|dclid|yclid|igshid|mc_[ce]id|ref_src|_hs(?:enc|mi)"
)


def host_of(address: str) -> str:
    """In small letters, without a dot at its end; empty if there is none."""
    try:
        return (urlsplit(address).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def site_of(address: str) -> str:
    """The host, without the `www.` that sites answer with and without."""
    return host_of(address).removeprefix("www.")


def without_tracking(address: str) -> str:
    """The address without a fragment, and without parameters that only tell who led there."""
    try:
        parts = urlsplit(address)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return address
    kept = [(name, value) for name, value in parameters if not _TRACKING.fullmatch(name.lower())]
    query = urlencode(kept) if len(kept) < len(parameters) else parts.query
    return parts._replace(query=query, fragment="").geturl()


def same_page(address: str) -> str:
    """Equal for addresses that lead to one page: http or https, `www.`, a slash at the end and tracking aside."""
    plain = without_tracking(address)
    try:
        parts = urlsplit(plain)
    except ValueError:
        return plain
    return f"{site_of(plain)}{parts.path.rstrip('/')}?{parts.query}"
