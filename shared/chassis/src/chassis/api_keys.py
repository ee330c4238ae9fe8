"""How an API key is written: `be_`, the key's public id, `_`, the secret, a checksum.

Letters and digits alone, so that a double click takes all of it, nothing has to be quoted, and those who scan texts for secrets
find it by one pattern. The checksum tells a mistyped key from a wrong one, and a text that looks like a key from a key, without
asking a database.
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
    """By which the key is found and spoken of; no secret."""
    secret: str = field(repr=False)

    @classmethod
    def make(cls, key_id: str | None = None) -> Self:
        """A new one; with an id, another secret for the key that has it."""
        return cls(key_id or _random(_ID_LENGTH), _random(_SECRET_LENGTH))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The key that is written so; None for what nobody has made, as the checksum tells."""
        found = _WRITTEN.fullmatch(text)
        if found is None:
            return None
        key = cls(found[1], found[2])
        return key if hmac.compare_digest(text, key.written()) else None

    def written(self) -> str:
        """As it is shown once, and sent with requests."""
        body = f"be_{self.id}_{self.secret}"
        return body + _in_digits(zlib.crc32(body.encode()), _CHECKSUM_LENGTH)

    def hashed(self) -> bytes:
        """What is kept of the secret.

        One round of SHA-256, neither salted nor slow: those protect passwords, which can be guessed. This is 256 random bits,
        of which nobody guesses any, however fast; and it is checked with every request.
        """
        return hashlib.sha256(self.secret.encode()).digest()

    def opens(self, *hashes: bytes | None) -> bool:
        """Whether one of these was kept of this secret. Takes as long whichever it is, and if it is none."""
        return is_one_of(self.hashed(), *hashes)


def is_one_of(own: bytes, *hashes: bytes | None) -> bool:
    """Whether a hash is one of these. Takes as long whichever it is, and if it is none."""
    # Where there is none, nothing matches, an empty hash neither.
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
