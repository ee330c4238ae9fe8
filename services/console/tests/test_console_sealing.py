"""Secrets that the console's database holds sealed."""

import os

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from console.sealing import (
    KEY_BYTES,
    PasswordCost,
    PasswordKeys,
    SealedError,
    new_key,
    new_token,
    seal,
    token_key,
    unseal,
)


def test_what_is_sealed_opens_by_its_key_and_for_its_purpose_alone() -> None:
    key = new_key()
    sealed = seal(b"a secret", key, "session")
    assert unseal(sealed, key, "session") == b"a secret"
    assert b"secret" not in sealed
    assert seal(b"a secret", key, "session") != sealed
    for other_key, purpose in ((new_key(), "session"), (key, "password"), (key[1:], "session")):
        with pytest.raises(SealedError):
            unseal(sealed, other_key, purpose)


@pytest.mark.parametrize("sealed", [b"", b"xcp1", b"xcp1" + b"x" * 20, b"short", b"x" * 80])
def test_what_nobody_sealed_does_not_open(sealed: bytes) -> None:
    with pytest.raises(SealedError):
        unseal(sealed, new_key(), "session")


def test_one_changed_bit_is_seen() -> None:
    key = new_key()
    sealed = bytearray(seal(b"a secret", key, "session"))
    for place in range(len(sealed)):
        sealed[place] ^= 1
        with pytest.raises(SealedError):
            unseal(bytes(sealed), key, "session")
        sealed[place] ^= 1


def test_what_an_earlier_version_sealed_still_opens() -> None:
    key, nonce = new_key(), os.urandom(12)
    sealed = nonce + AESGCM(key).encrypt(nonce, b"a secret", b"session")
    assert unseal(sealed, key, "session") == b"a secret"
    with pytest.raises(SealedError):
        unseal(sealed, new_key(), "session")


def test_the_key_of_a_token_is_what_the_standard_says() -> None:
    token = new_token()
    assert token_key(token) == HKDF(SHA256(), KEY_BYTES, salt=None, info=b"console token").derive(
        token.encode()
    )


async def test_the_key_of_a_password_is_what_another_library_derives() -> None:
    salt = PasswordKeys.new_salt()
    key = await PasswordKeys(PasswordCost(memory_kib=64, rounds=2)).derive("pass \ud800 wörd", salt)
    password = "pass \ud800 wörd".encode(errors="surrogatepass")
    assert key == Argon2id(salt=salt, length=KEY_BYTES, iterations=2, lanes=1, memory_cost=64).derive(
        password
    )
