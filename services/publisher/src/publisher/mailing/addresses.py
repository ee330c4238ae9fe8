"""Mail addresses and the words in links: which are valid, how they are compared, and how they are signed. Pure: no I/O."""

import base64
import binascii
import hashlib
import hmac
import re
from enum import StrEnum
from typing import Final
from uuid import UUID

_LONGEST: Final = 254
_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]*[A-Za-z0-9]"
)
_IN_TEXT: Final = re.compile(r"[^\s<>()\[\]:;,\"]+@[^\s<>()\[\]:;,\"]+")
_MAC_BYTES: Final = 18
_ID_BYTES: Final = 16


class LinkPurpose(StrEnum):
    """The effect of a link in a letter."""

    CONFIRM = "confirm"
    LEAVE = "leave"


def mail_address(text: str) -> str | None:
    """Returns the address without spaces around it; None if it is none."""
    address = text.strip()
    return address if len(address) <= _LONGEST and _ADDRESS.fullmatch(address) else None


def address_digest(key: bytes, brand: str, address: str) -> bytes:
    """Returns what stands for the address at a brand; it differs between brands, and lower and upper case are the same."""
    return _mac(key, "address", brand, address.lower())


def mailbox_digest(key: bytes, address: str) -> bytes:
    """Returns what stands for a person's mailbox over all brands: `ada+news@…` is the mailbox of `ada@…`."""
    local, _, host = address.lower().rpartition("@")
    return _mac(key, "mailbox", f"{local.partition('+')[0]}@{host}")


def network_digest(key: bytes, network: str) -> bytes:
    """Returns what stands for the network of a visitor, over all brands."""
    return _mac(key, "network", network)


def link_word(key: bytes, purpose: LinkPurpose, subscriber: UUID, sign_up: UUID | None = None) -> str:
    """Returns the word of a link: the subscriber's id, signed for one purpose, and for one sign-up where it is given."""
    signed = _mac(key, purpose, str(subscriber), str(sign_up or ""))[:_MAC_BYTES]
    return base64.urlsafe_b64encode(subscriber.bytes + signed).decode().rstrip("=")


def subscriber_of(word: str) -> UUID | None:
    """Returns the subscriber that a word names; `is_word` tells whether its signature is valid."""
    if not word.isascii() or len(word) > 100:  # noqa: PLR2004  (longer than any word)
        return None
    try:
        known = base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
    except (ValueError, binascii.Error):
        return None
    return UUID(bytes=known[:_ID_BYTES]) if len(known) == _ID_BYTES + _MAC_BYTES else None


def is_word(
    key: bytes, word: str, purpose: LinkPurpose, subscriber: UUID, sign_up: UUID | None = None
) -> bool:
    return hmac.compare_digest(link_word(key, purpose, subscriber, sign_up), word)


def without_addresses(text: str) -> str:
    """Returns a mail server's sentence without the addresses in it, so that it may be shown and stored."""
    return _IN_TEXT.sub("…", text)


def _mac(key: bytes, *parts: str) -> bytes:
    return hmac.new(key, "\n".join(parts).encode(), hashlib.sha256).digest()
