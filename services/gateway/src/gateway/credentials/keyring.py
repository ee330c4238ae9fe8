"""The keys that providers' keys are encrypted with: the first seals, all of them open.

What encrypts takes 6 MB, and is loaded where there are keys.
"""

import json
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from chassis import redaction
from gateway.problems import Problem, ProblemError

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

HOW_TO_MAKE_ONE: Final = "make one with `openssl rand -base64 32`"


def split_keys(text: str) -> list[str]:
    """One or several, separated by commas or white space.

    Raises:
        ValueError: one is no key; does not quote it.
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
    """Seals and opens.

    Args:
        keys: as the setting has them; None if there are none.
        file: where they are, if in a file: it is read again when it has changed, so that keys are rotated without a restart.
    """

    def __init__(self, keys: SecretStr | None, file: Path | None = None) -> None:
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self._ring: MultiFernet | None = None
        if keys is not None:
            self._take(keys.get_secret_value())
        self._look_at_the_file()

    def seal(self, name: str, key: str) -> bytes:
        """The key of the account of that name, for the database.

        Raises:
            ProblemError: `credentials.no_keys`: there is nothing to seal it with.
        """
        # The name is sealed with it: a row that was given another's key does not open.
        return self._current().encrypt(json.dumps([name, key]).encode())

    def open(self, name: str, sealed: bytes) -> SecretStr:
        """What was sealed under that name.

        Raises:
            ProblemError: `credentials.sealed`: none of the keys opens it.
        """
        from cryptography.fernet import InvalidToken  # noqa: PLC0415

        try:
            sealed_name, key = json.loads(self._current().decrypt(sealed))
        except InvalidToken:
            raise ProblemError(_cannot_open(name)) from None
        if sealed_name != name:
            raise ProblemError(_cannot_open(name))
        return SecretStr(key)

    def seal_anew(self, name: str, sealed: bytes) -> bytes:
        """The same, sealed with the first key.

        Raises:
            ProblemError: `credentials.sealed`, `credentials.no_keys`.
        """
        from cryptography.fernet import InvalidToken  # noqa: PLC0415

        try:
            return self._current().rotate(sealed)
        except InvalidToken:
            raise ProblemError(_cannot_open(name)) from None

    def _current(self) -> "MultiFernet":
        self._look_at_the_file()
        if self._ring is None:
            raise ProblemError(
                Problem(
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
            # Away, or half written: what is known opens as before, and the next look may find it whole.
            return

    def _take(self, text: str) -> None:
        from cryptography.fernet import Fernet, MultiFernet  # noqa: PLC0415

        keys = split_keys(text)
        redaction.learn(*keys)
        self._ring = MultiFernet([Fernet(key) for key in keys])


def _cannot_open(name: str) -> Problem:
    return Problem(
        "credentials.sealed",
        f"none of GATEWAY_KEYS opens the key of {name}: add the one that it was sealed with, or connect it anew with"
        f" `brandctl providers connect`",
        HTTPStatus.FAILED_DEPENDENCY,
    )
