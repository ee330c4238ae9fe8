"""Encrypts accounts for one hand-over between two installations.

Only the installation that made the one-time key can decrypt, and only if both have the same `MOVES_KEY`: a caller with all scopes, who
could give a public key of their own, gets nothing out of it. The library is imported on first use, as it takes memory.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

_ABOUT: Final = b"brand-engine accounts of a moving brand 1"
_KEY_BYTES: Final = 32
_NONCE: Final = bytes(12)
"""Each key encrypts once, so it needs no nonce."""


class WrongSealError(ValueError):
    """It was encrypted for another hand-over, or with another `MOVES_KEY`."""


@dataclass(frozen=True, slots=True)
class HandoverSeal:
    """The hand-over of the accounts of one brand. `moves_key` is what both installations know."""

    moves_key: str
    move_id: UUID
    brand: str

    def new_key(self) -> tuple[bytes, bytes]:
        """Makes the private and the public key of the receiving side."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey  # noqa: PLC0415

        private = X25519PrivateKey.generate()
        return private.private_bytes_raw(), private.public_key().public_bytes_raw()

    def seal(self, public_key: bytes, text: bytes) -> bytes:
        """Encrypts for the owner of a public key; the result begins with the one-time key of this side.

        Raises:
            WrongSealError: it is no public key.
        """
        from cryptography.hazmat.primitives.asymmetric.x25519 import (  # noqa: PLC0415
            X25519PrivateKey,
            X25519PublicKey,
        )
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # noqa: PLC0415

        ours = X25519PrivateKey.generate()
        try:
            shared = ours.exchange(X25519PublicKey.from_public_bytes(public_key))
        except ValueError as error:
            raise WrongSealError("it is no public key") from error
        own = ours.public_key().public_bytes_raw()
        return own + ChaCha20Poly1305(self._key(shared, own, public_key)).encrypt(_NONCE, text, self._bound)

    def open(self, private_key: bytes, sealed: bytes) -> bytes:
        """Raises WrongSealError."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric.x25519 import (  # noqa: PLC0415
            X25519PrivateKey,
            X25519PublicKey,
        )
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # noqa: PLC0415

        ours = X25519PrivateKey.from_private_bytes(private_key)
        theirs, rest = sealed[:_KEY_BYTES], sealed[_KEY_BYTES:]
        try:
            shared = ours.exchange(X25519PublicKey.from_public_bytes(theirs))
            key = self._key(shared, theirs, ours.public_key().public_bytes_raw())
            return ChaCha20Poly1305(key).decrypt(_NONCE, rest, self._bound)
        except (InvalidTag, ValueError) as error:
            raise WrongSealError("it was encrypted for another hand-over, or with another key") from error

    @property
    def _bound(self) -> bytes:
        return self.move_id.bytes + self.brand.encode()

    def _key(self, shared: bytes, sender: bytes, receiver: bytes) -> bytes:
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

        about = b"|".join([_ABOUT, self._bound, sender, receiver])
        return HKDF(SHA256(), _KEY_BYTES, salt=self.moves_key.encode(), info=about).derive(shared)
