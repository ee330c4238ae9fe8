"""The gateway's HTTP API, as far as operators need it, and how commands that use it begin and end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final, Self

import httpx
import typer

from brandctl.access import Access, AccessError, find_access
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


class GatewayError(RuntimeError):
    """The gateway cannot be reached or refused; the message is for people."""


class Gateway:
    """A client; use it as a context manager."""

    def __init__(self, access: Access) -> None:
        self._url = access.url.rstrip("/")
        try:
            # A proxy of the company cannot reach this machine's own addresses.
            local = httpx.URL(self._url).host in {"127.0.0.1", "::1", "localhost"}
            self._http = httpx.Client(headers={"X-Service-Key": access.key}, timeout=30, trust_env=not local)
        except (ValueError, httpx.InvalidURL) as error:
            raise GatewayError(f"the address of the gateway or its key is malformed: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def call(self, method: str, path: str, body: Any = None, **parameters: str | None) -> dict[str, Any]:
        """The JSON object that is answered; an empty one if there is nothing to say.

        Raises:
            GatewayError: it cannot be reached, refused, or is no gateway.
        """
        given = {name: value for name, value in parameters.items() if value is not None}
        try:
            response = self._http.request(method, f"{self._url}/v1{path}", json=body, params=given)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise GatewayError(f"the gateway at {self._url} cannot be reached: {error}") from error
        if not response.is_success:
            raise GatewayError(f"{_detail(response)} (HTTP {response.status_code})")
        if response.status_code == httpx.codes.NO_CONTENT:
            return {}
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise GatewayError(f"{self._url} does not answer like the gateway; is the address right?")
        return answer


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return response.text[:500] or response.reason_phrase


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
