"""What the commands about dead letters are given alike."""

import getpass
import socket
from typing import Annotated

import typer

Queue = Annotated[str | None, typer.Option(help="Only those of this queue, such as research-commands.")]
TypeName = Annotated[
    str | None, typer.Option("--type", help="Only this message type, such as content.publish.")
]
Group = Annotated[
    str | None, typer.Option(help="Only those that failed alike: a group out of `list --summary`.")
]
Everything = Annotated[bool, typer.Option("--all", help="All open ones, or those that match.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="With --all or --group: do not ask.")]
By = Annotated[
    str | None,
    typer.Option("--by", envvar="BRANDCTL_BY", help="Who you are; kept with it.", show_default="user@host"),
]


def who(given: str | None) -> str:
    """As somebody calls themselves, or as this machine calls them."""
    if given and given.strip():
        return given.strip()[:200]
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run under a number that nobody has named
        user = "somebody"
    return f"{user}@{socket.gethostname()}"[:200]
