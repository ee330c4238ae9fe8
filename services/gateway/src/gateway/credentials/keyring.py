"""The keys that encrypt providers' keys: the first encrypts, all decrypt.

The library takes 6 MB of memory, so it is imported on first use.
"""

import json
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from chassis import redaction
from gateway.problems import CallProblem, CallProblemError

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

HOW_TO_MAKE_ONE: Final = "make one with `openssl rand -base64 32`"


def split_keys(text: str) -> list[str]:
    """Splits keys at commas and white space.

    Raises:
        ValueError: a key is invalid; the message does not quote it.
    """
    from cryptography.fernet import Fernet  # noqa: PLC0415

    keys = text.replace(",", " ").split()
    for place, key in enumerate(keys, 1):
        try:
            Fernet(key)
        except ValueError:
            raise ValueError(f"key {place} is not 32 bytes in base64; {HOW_TO_MAKE_ONE}") from None
    if not keys:
        raise ValueError(f"is blank; {HOW_TO_MAKE_ONE}")
    return keys


class Keyring:
    """Encrypts and decrypts secrets.

    Args:
        keys: the value of the setting; None if unset.
        file: a file with keys; it is read again after a change, so keys rotate without a restart.
    """

    def __init__(self, keys: SecretStr | None, file: Path | None = None) -> None:
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self._ring: MultiFernet | None = None
        if keys is not None:
            self._take(keys.get_secret_value())
        self._look_at_the_file()

    def seal(self, name: str, key: str) -> bytes:
        """Encrypts the key of the named account, for the database.

        Raises:
            CallProblemError: `credentials.no_keys`: the ring is empty.
        """
        # The name is encrypted too, so a sealed key opens only for its own account.
        return self._current().encrypt(json.dumps([name, key]).encode())

    def open(self, name: str, sealed: bytes) -> SecretStr:
        """Decrypts a key that was sealed for this name.

        Raises:
            CallProblemError: `credentials.sealed`: no key of the ring opens it.
        """
        from cryptography.fernet import InvalidToken  # noqa: PLC0415

        try:
            sealed_name, key = json.loads(self._current().decrypt(sealed))
        except InvalidToken:
            raise CallProblemError(_cannot_open(name)) from None
        if sealed_name != name:
            raise CallProblemError(_cannot_open(name))
        return SecretStr(key)

    def reseal(self, name: str, sealed: bytes) -> bytes:
        """Re-encrypts a sealed key with the first of the ring.

        Raises:
            CallProblemError: `credentials.sealed`, `credentials.no_keys`.
        """
        from cryptography.fernet import InvalidToken  # noqa: PLC0415

        try:
            return self._current().rotate(sealed)
        except InvalidToken:
            raise CallProblemError(_cannot_open(name)) from None

    def _current(self) -> "MultiFernet":
        self._look_at_the_file()
        if self._ring is None:
            raise CallProblemError(
                CallProblem(
                    "credentials.no_keys",
                    f"the gateway has no key to keep secrets with; {HOW_TO_MAKE_ONE} and set GATEWAY_KEYS or"
                    " GATEWAY_KEYS_FILE",
                    HTTPStatus.FAILED_DEPENDENCY,
                )
            )
        return self._ring

    def _look_at_the_file(self) -> None:
        if self._file is None:
            return
        try:
            found = self._file.stat()
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen != self._seen:
                self._take(self._file.read_text(encoding="utf-8"))
                self._seen = seen
        except (OSError, ValueError):
            # The file is missing or incomplete; the known keys stay, and the next look reads it again.
            return

    def _take(self, text: str) -> None:
        from cryptography.fernet import Fernet, MultiFernet  # noqa: PLC0415

        keys = split_keys(text)
        redaction.learn(*keys)
        self._ring = MultiFernet([Fernet(key) for key in keys])


def _cannot_open(name: str) -> CallProblem:
    return CallProblem(
        "credentials.sealed",
        f"none of GATEWAY_KEYS opens the key of {name}: add the one that it was sealed with, or connect it anew with"
        f" `brandctl providers connect`",
        HTTPStatus.FAILED_DEPENDENCY,
    )
