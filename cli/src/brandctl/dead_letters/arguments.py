"""What the commands about dead letters are given alike, and how they get at the monitor."""

import getpass
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from brandctl.access import AccessError, find_access
from brandctl.dead_letters.monitor import Monitor, MonitorError
from brandctl.terminal import note

USAGE: Final = 2
"""Exit code where what was asked for was wrong."""

MonitorUrl = Annotated[
    str | None, typer.Option("--monitor-url", envvar="MONITOR_URL", help="Address of the monitor service.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", dir_okay=False, help="File that holds the service key; else SERVICE_KEY."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, for scripts.")]
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


@contextmanager
def opened(monitor_url: str | None, key_file: Path | None) -> Iterator[Monitor]:
    """The monitor, or the end of the command with what is wrong."""
    try:
        access = find_access(monitor_url, key_file)
    except AccessError as error:
        note(str(error))
        raise typer.Exit(USAGE) from error
    try:
        with Monitor(access) as monitor:
            yield monitor
    except MonitorError as error:
        note(str(error))
        raise typer.Exit(1) from error


def who(given: str | None) -> str:
    """As somebody calls themselves, or as this machine calls them."""
    if given and given.strip():
        return given.strip()[:200]
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may run under a number that nobody has named
        user = "somebody"
    return f"{user}@{socket.gethostname()}"[:200]
