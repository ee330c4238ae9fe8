"""API keys as text: `be_`, the key's public id, `_`, the secret, a checksum.

A key has only letters, digits and underscores: a double click selects it, it needs no quoting, and secret scanners find it by
one pattern. The checksum detects mistyped keys and lookalikes without a database.
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from dataclasses import dataclass, field
from typing import Final, Self

PATTERN: Final = r"be_([0-9A-Za-z]{12})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})"
_WRITTEN: Final = re.compile(PATTERN)
_DIGITS: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ID_LENGTH: Final = 12
_SECRET_LENGTH: Final = 43
"""62^43 are more than 2^256."""
_CHECKSUM_LENGTH: Final = 6
"""62^6 are more than 2^32."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: str
    """Public name of the key; not a secret."""
    secret: str = field(repr=False)

    @classmethod
    def make(cls, key_id: str | None = None) -> Self:
        """Generate a new key; with `key_id`, a new secret for that key."""
        return cls(key_id or _random(_ID_LENGTH), _random(_SECRET_LENGTH))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parse the text of a key; None if its form or its checksum is wrong."""
        found = _WRITTEN.fullmatch(text)
        if found is None:
            return None
        key = cls(found[1], found[2])
        return key if hmac.compare_digest(text, key.written()) else None

    def written(self) -> str:
        """Return the key's text, for its owner and for requests."""
        body = f"be_{self.id}_{self.secret}"
        return body + _in_digits(zlib.crc32(body.encode()), _CHECKSUM_LENGTH)

    def hashed(self) -> bytes:
        """Return the hash to store: one round of SHA-256.

        Salts and slow hashes protect guessable passwords. The secret is 256 random bits, and every request checks it.
        """
        return hashlib.sha256(self.secret.encode()).digest()

    def opens(self, *hashes: bytes | None) -> bool:
        """Return whether one of the hashes is this secret's, in constant time."""
        return is_one_of(self.hashed(), *hashes)


def is_one_of(own: bytes, *hashes: bytes | None) -> bool:
    """Return whether a hash is among the others, in constant time."""
    # None matches nothing, not even an empty hash.
    matches = [hmac.compare_digest(own, each or b"") and each is not None for each in hashes]
    return any(matches)


def _random(length: int) -> str:
    return "".join(secrets.choice(_DIGITS) for _ in range(length))


def _in_digits(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
