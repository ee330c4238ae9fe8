"""Seals secrets so that the database alone opens none: XChaCha20-Poly1305 under keys that only people hold.

A person's own key, 32 random bytes, seals their API key. It is stored only sealed: by the password, by each recovery code, and by
each session's cookie.
"""

import asyncio
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final, Self

from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id
from nacl.secret import Aead

KEY_BYTES: Final = 32
PRF_INPUT: Final = "Y29uc29sZTogYSBwZXJzb24ncyBvd24ga2V5"
"""What every passkey calculates from (base64url); the result differs by passkey."""
_MARK: Final = b"xcp1"
"""What is sealed begins with it. What does not was sealed by an earlier version, by AES-256-GCM."""
_AES_NONCE_BYTES: Final = 12
_SALT_BYTES: Final = 16
_MOST_DERIVATIONS: Final = 2
"""Passwords checked at the same time; each takes MEMORY_KIB."""
MEMORY_KIB: Final = 19_456
ROUNDS: Final = 3


class SealedError(Exception):
    """The key does not open the secret, or the secret was sealed for another purpose."""


def new_key() -> bytes:
    """Generates a person's own key."""
    return secrets.token_bytes(KEY_BYTES)


def new_token() -> str:
    """Generates the token of a link or a cookie: 256 random bits."""
    return secrets.token_urlsafe(KEY_BYTES)


def seal(secret: bytes, key: bytes, purpose: str) -> bytes:
    """Encrypts a secret; `purpose` must be the same to open it, so that rows cannot be exchanged."""
    return _MARK + Aead(key).encrypt(secret, purpose.encode())


def unseal(sealed: bytes, key: bytes, purpose: str) -> bytes:
    """Decrypts a secret.

    Raises:
        SealedError: the key or the purpose is another.
    """
    if not sealed.startswith(_MARK):
        return _unseal_aes(sealed, key, purpose)
    try:
        return Aead(key).decrypt(sealed.removeprefix(_MARK), purpose.encode())
    except CryptoError as error:
        raise SealedError("the key does not open this") from error


def token_hash(token: str) -> bytes:
    """The hash of a token; the database finds the token's row by it."""
    return hashlib.sha256(token.encode()).digest()


def token_key(token: str) -> bytes:
    """The key that a token's random bits give; unrelated to `token_hash`. By HKDF of RFC 5869 with SHA-256, for one block."""
    extracted = hmac.digest(bytes(KEY_BYTES), token.encode(), "sha256")
    return hmac.digest(extracted, b"console token\x01", "sha256")


def _unseal_aes(sealed: bytes, key: bytes, purpose: str) -> bytes:
    # This library takes 9 MB, and only what an earlier version sealed needs it.
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    try:
        return AESGCM(key).decrypt(sealed[:_AES_NONCE_BYTES], sealed[_AES_NONCE_BYTES:], purpose.encode())
    except (InvalidTag, ValueError) as error:
        raise SealedError("the key does not open this") from error


@dataclass(frozen=True, slots=True)
class PasswordCost:
    """What deriving a key from a password takes; stored with it, so that it may grow."""

    memory_kib: int = MEMORY_KIB
    rounds: int = ROUNDS

    @classmethod
    def read(cls, text: str) -> Self:
        memory, rounds = text.split(",")
        return cls(int(memory), int(rounds))

    def written(self) -> str:
        return f"{self.memory_kib},{self.rounds}"


class PasswordKeys:
    """Derives keys from passwords with Argon2id, a few at a time and outside of the event loop."""

    def __init__(self, cost: PasswordCost | None = None) -> None:
        self.cost = cost or PasswordCost()
        self._places = asyncio.Semaphore(_MOST_DERIVATIONS)

    @staticmethod
    def new_salt() -> bytes:
        return secrets.token_bytes(_SALT_BYTES)

    async def derive(self, password: str, salt: bytes, cost: PasswordCost | None = None) -> bytes:
        chosen = cost or self.cost
        async with self._places:
            return await asyncio.to_thread(
                argon2id.kdf,
                KEY_BYTES,
                password.encode(errors="surrogatepass"),
                salt,
                opslimit=chosen.rounds,
                memlimit=chosen.memory_kib * 1024,
            )
