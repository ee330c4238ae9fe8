"""The name that is stored with a decision of an operator."""

import getpass
import socket
from typing import Annotated

import typer

By = Annotated[
    str | None,
    typer.Option(
        "--by", envvar="BRANDCTL_BY", help="Your name, stored with the decision.", show_default="user@host"
    ),
]


def who(given: str | None) -> str:
    """Returns the given name, or `user@host` of this machine."""
    if given and given.strip():
        return given.strip()[:200]
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run under a user id without a name
        user = "somebody"
    return f"{user}@{socket.gethostname()}"[:200]
