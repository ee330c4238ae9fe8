"""Groups clients by the network of their address."""

from ipaddress import IPv6Address, ip_address
from typing import Final

_NETWORK_BITS: Final = 64
"""Network part of an IPv6 address; the client chooses the rest."""


def network_of(address: str) -> str:
    """Return the network of a client: its IPv4 address, the /64 of its IPv6 address, or other text unchanged."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(IPv6Address(int(parsed) >> _NETWORK_BITS << _NETWORK_BITS))
    return str(parsed)
