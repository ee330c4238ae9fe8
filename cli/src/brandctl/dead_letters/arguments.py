"""Arguments and options that several commands about dead letters share."""

import getpass
import socket
from typing import Annotated

import typer

Queue = Annotated[str | None, typer.Option(help="Only those of this queue, such as research-commands.")]
TypeName = Annotated[
    str | None, typer.Option("--type", help="Only this message type, such as content.publish.")
]
Group = Annotated[str | None, typer.Option(help="Only this group of equal failures, from `list --summary`.")]
Everything = Annotated[
    bool, typer.Option("--all", help="All open dead letters that match the other options.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="With --all or --group: do not ask for confirmation.")]
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
