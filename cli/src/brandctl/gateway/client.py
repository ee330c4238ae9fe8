"""The gateway's HTTP API, as far as operators need it, and how commands that use it begin and end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from brandctl.access import AccessError, find_access
from brandctl.service_client import ServiceClient, ServiceError
from brandctl.terminal import note

USAGE: Final = 2

GatewayUrl = Annotated[
    str | None, typer.Option("--gateway-url", envvar="GATEWAY_URL", help="Address of the gateway.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", dir_okay=False, help="File that holds the service key; else SERVICE_KEY."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, for scripts.")]


class GatewayError(ServiceError):
    """The gateway cannot be reached or refused; the message is for people."""


class Gateway(ServiceClient):
    """A client; use it as a context manager."""

    service = "the gateway"
    error = GatewayError

    def call(self, method: str, path: str, body: Any = None, **parameters: str | None) -> dict[str, Any]:
        """The JSON object that is answered; an empty one if there is nothing to say.

        Raises:
            GatewayError: it cannot be reached, refused, or is no gateway.
        """
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._ask(method, f"/v1{path}", json=body, params=given)


@contextmanager
def gateway_at(url: str | None, key_file: Path | None) -> Iterator[Gateway]:
    """The gateway, for the time of a command; what it refuses ends the command with a message."""
    try:
        access = find_access(url, key_file, service="gateway")
    except AccessError as error:
        note(str(error))
        raise typer.Exit(USAGE) from error
    try:
        with Gateway(access) as gateway:
            yield gateway
    except GatewayError as error:
        note(str(error))
        raise typer.Exit(1) from error
