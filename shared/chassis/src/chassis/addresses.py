"""Parses addresses with passwords strictly; errors never repeat the address."""

import re
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from chassis import secret_files

_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNFIT: Final = re.compile(r"[\x00-\x20\x7f]")
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\[\]:,]*)(?::(?P<port>\d{1,5}))?")
_LARGEST_PORT: Final = 65_535


def parse(address: str, *, schemes: Collection[str], example: str) -> SplitResult:
    """Split an address with a percent-encoded user and password.

    A raw `/`, `#`, `?` or `@` in a password would change the host; clients would then print parts of the password in errors.

    Raises:
        ValueError: it is not such an address; the message tells how to write it, without the given text.
    """
    wrong = ValueError(
        f"is no address like {example}. In a user's name or password, percent-encode every character other than letters, "
        "digits, - . _ ~ : %2F is /, %23 is #, %3F is ?, %40 is @, %25 is %"
    )
    if _UNFIT.search(address) or _ESCAPE.search(address) or "#" in address:
        raise wrong
    try:
        parts = urlsplit(address)
    except ValueError:
        raise wrong from None
    credentials, _, hosts = parts.netloc.rpartition("@")
    ports = [_HOST.fullmatch(host) for host in hosts.split(",")]
    if (
        parts.scheme not in schemes
        or "@" in credentials + parts.path + parts.query
        or not all(match and int(match["port"] or 1) in range(1, _LARGEST_PORT + 1) for match in ports)
    ):
        raise wrong
    return parts


def given(
    environment: Mapping[str, str], variable: str, *, schemes: Collection[str], example: str
) -> str | None:
    """Return the address from a variable or from the file in `<VARIABLE>_FILE`; None if neither is set.

    Raises:
        ValueError: see `parse` and `secret_files.read`; the message names the variable.
    """
    address = secret_files.read(environment, variable)
    if address is not None:
        try:
            parse(address, schemes=schemes, example=example)
        except ValueError as error:
            raise ValueError(f"{variable} {error}") from None
    return address
