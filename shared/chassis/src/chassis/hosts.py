"""Checks hosts in addresses from outside: every program must read them alike."""

import re
import unicodedata
from ipaddress import IPv6Address
from typing import Final

_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_LETTERS: Final = frozenset({"Ll", "Lo", "Lm", "Mn", "Mc"})
_LONGEST: Final = 253
"""Characters of a name (RFC 1035)."""


def is_host(text: str) -> bool:
    """Return whether a text is a host: a name, with letters of any script, or an IP address.

    Circled or full-width digits and letters are refused: some programs read ①②⑦.0.0.1 as 127.0.0.1, others fail on it.

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
    return len(name) <= _LONGEST and all(_LABEL.fullmatch(label) for label in name.split("."))
