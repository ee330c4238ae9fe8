"""Clients told apart by their addresses."""

from ipaddress import IPv6Address, ip_address
from typing import Final

_NETWORK_BITS: Final = 64
"""Of an IPv6 address: the rest of it is the client's own choice."""


def network_of(address: str) -> str:
    """What stands for a client: an IPv4 address, the /64 of an IPv6 address, or the text if it is neither."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(IPv6Address(int(parsed) >> _NETWORK_BITS << _NETWORK_BITS))
    return str(parsed)
