"""Checks hosts in addresses from outside: every program must read them alike."""

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address
from typing import Final

_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""Last part of a host that programs read as a numeric address."""
_LETTERS: Final = frozenset({"Ll", "Lo", "Lm", "Mn", "Mc"})
_LONGEST: Final = 253
"""Characters of a name (RFC 1035)."""
_SHOWN: Final = 60
"""Characters of a host that an error quotes."""


def is_host(text: str) -> bool:
    """Return whether a text is a host: a name, with letters of any script, or an IP address.

    Circled or full-width digits and letters are refused: some programs read ①②⑦.0.0.1 as 127.0.0.1, others fail on it.
    So are numeric addresses in other notations than four decimal numbers: 127.1, 0x7f.1, 2130706433, 0177.0.0.1.

    Args:
        text: without brackets and port, like `urlsplit(…).hostname`.
    """
    if ":" in text:
        try:
            return IPv6Address(text).scope_id is None
        except ValueError:
            return False
    name = text.lower().removesuffix(".")
    if not name.isascii():
        others = (char for char in name if not char.isascii())
        if unicodedata.normalize("NFKC", name) != name or any(
            unicodedata.category(char) not in _LETTERS for char in others
        ):
            return False
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return False
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _is_ipv4(name) and not text.endswith(".")
    return len(name) <= _LONGEST and all(_LABEL.fullmatch(label) for label in name.split("."))


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except ValueError:
        return False
    return True


def explain_bad_host(text: str) -> str:
    """Return the error for a host that `is_host` refuses: a clause to follow the name of a field."""
    shown = ascii(text[:_SHOWN])
    if text.isascii():
        return (
            f"has {shown} as its host, which is none; write a name of 1 to 63 letters, digits and hyphens between its dots, as "
            "blog.example.org, or an address as 192.0.2.7"
        )
    return f"has a host that not every program reads alike: {shown}; write it in letters and digits of ASCII"
