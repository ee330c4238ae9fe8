"""Reads secrets from variables, or from the files that `<VARIABLE>_FILE` names."""

from collections.abc import Mapping
from pathlib import Path


class SecretFileError(ValueError):
    """A secret is given twice, or its file is unreadable; the message names the variable, never the secret."""


def read(environment: Mapping[str, str], variable: str) -> str | None:
    """Return the secret from the variable or from its file, without the final newline; None if neither is set.

    Raises:
        SecretFileError: both are set, or the file is missing, unreadable, not UTF-8, or empty.
    """
    value, named = environment.get(variable), environment.get(f"{variable}_FILE")
    if not named:
        return value or None
    if value:
        raise SecretFileError(f"{variable} and {variable}_FILE are both set: keep one of them")
    try:
        secret = Path(named).read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise SecretFileError(f"{variable}_FILE: {named} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SecretFileError(f"{variable}_FILE: {named} is no text in UTF-8") from None
    if not secret:
        raise SecretFileError(f"{variable}_FILE: {named} is empty")
    return secret
