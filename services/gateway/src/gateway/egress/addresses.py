"""Decides which IP addresses are public, by the registries of IANA; all others are refused.

Python's `is_global` is not used: it differs between releases, and accepts translated addresses that may hide
private ones.
"""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

V4: Final = {
    IPv4Network(network): what
    for network, what in (
        ("0.0.0.0/8", "this machine"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "the network of a provider"),
        ("127.0.0.0/8", "this machine"),
        ("168.63.129.16/32", "the platform of a cloud"),
        ("169.254.0.0/16", "the link, where clouds keep credentials of machines"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "a special purpose"),
        ("192.0.2.0/24", "documentation"),
        ("192.52.193.0/24", "a relay"),
        ("192.88.99.0/24", "a relay"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "measurements"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "nobody"),
    )
}
"""Network → its purpose."""
V6: Final = {
    IPv6Network(network): what
    for network, what in (
        ("::/128", "this machine"),
        ("::1/128", "this machine"),
        ("::/96", "a translation of IPv4"),
        ("::ffff:0:0/96", "a translation of IPv4"),
        ("::ffff:0:0:0/96", "a translation of IPv4"),
        ("64:ff9b::/96", "a translation of IPv4"),
        ("64:ff9b:1::/48", "a translation of IPv4"),
        ("2001::/32", "a translation of IPv4"),
        ("2001::/23", "a special purpose"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "a translation of IPv4"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "a private network"),
        ("fe80::/10", "the link"),
        ("fec0::/10", "a private network"),
        ("ff00::/8", "multicast"),
    )
}
PUBLIC_V6: Final = IPv6Network("2000::/3")
"""The range that is assigned to users."""


def purpose(address: Address) -> str | None:
    """The purpose of an address outside the public internet, such as `a private network`; None for a public one."""
    known: Mapping[Any, str] = V4 if isinstance(address, IPv4Address) else V6
    found = next((what for network, what in known.items() if address in network), None)
    if found is None and isinstance(address, IPv6Address) and address not in PUBLIC_V6:
        return "nobody"
    return found


def is_reachable(text: str, exceptions: Iterable[Network]) -> bool:
    """Whether requests may go to the address: it is public, or in a network that the operator allows."""
    address = parse(text)
    if address is None:
        return False
    return purpose(address) is None or any(address in network for network in exceptions)


def parse(text: str) -> Address | None:
    """Parses an address in the standard notation; None for any other text."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def networks(text: str) -> tuple[Network, ...]:
    """Parses a list of networks: `10.1.0.0/16, fd00:1::/32`.

    Raises:
        ValueError: an entry is no network; the message names it.
    """
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        try:
            found.append(ip_network(part))
        except ValueError as error:
            raise ValueError(f"{part!r} is no network; write it like 10.1.0.0/16 ({error})") from None
    return tuple(found)
