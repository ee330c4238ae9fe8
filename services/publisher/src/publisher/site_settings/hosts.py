"""Which hosts a site may have: public names."""

import re
from typing import Final

_TOP: Final = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]{2,59}")
_INNER: Final = frozenset(
    "localhost localdomain local internal intranet private corp lan home arpa svc onion invalid".split()  # noqa: SIM905  (read as one line)
)
"""Last labels that no public name has (RFC 6761, 6762, 7686, 8375, names reserved by ICANN), and that of Kubernetes services."""


def is_public_host(host: str) -> bool:
    """Whether `blog.example.org` could be a public name: not an address, a single label or an internal name. Does not look it up.

    The database has the same rule, `is_public_host` in `0019_public_hosts_of_sites.sql`.
    """
    _, dot, top = host.rpartition(".")
    return bool(dot) and _TOP.fullmatch(top) is not None and top not in _INNER


def host_name(origin: str) -> str:
    """`blog.example.org` of `https://Blog.example.org:8443`."""
    return origin.partition("//")[2].partition(":")[0].lower().rstrip(".")
