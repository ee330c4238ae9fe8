"""Secrets for the gateway, which never are in arguments."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from brandctl.errors import UsageError

STDIN: Final = Path("-")
SecretFile = Annotated[Path, typer.Option(help="File with the secret; - is standard input.", allow_dash=True)]


def read_secret(file: Path, what: str, give: str) -> str:
    """Reads a secret from a file or standard input, and asks for it at a terminal.

    Raises:
        UsageError: the file cannot be read, or there is no secret; then the message says how to `give` it.
    """
    if file != STDIN:
        try:
            secret = file.read_text().strip()
        except (OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
    elif sys.stdin.isatty():
        secret = str(typer.prompt(what.capitalize(), hide_input=True, err=True)).strip()
    else:
        secret = sys.stdin.read().strip()
    if not secret:
        raise UsageError(f"no {what} was given: give it on standard input or with {give}")
    return secret
