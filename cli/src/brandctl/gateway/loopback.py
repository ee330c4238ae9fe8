"""Waiting on this machine for a browser that comes back from a provider (RFC 8252, section 7.3), or having its address pasted."""

import os
import time
from dataclasses import dataclass
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

import typer

from brandctl.errors import CommandError, UsageError

PATH: Final = "/callback"
_WITHIN_SECONDS: Final = 600.0
"""As long as the gateway keeps the log-in."""


@dataclass(frozen=True, slots=True)
class SignInCallback:
    """What a provider sent along."""

    code: str
    state: str


class LoopbackListener:
    """Listens on this machine alone; use it as a context manager.

    In a container, `BRANDCTL_CALLBACK_HOST` says on which of its addresses. A port of 127.0.0.1 of the machine leads there.

    Args:
        port: 0 for any that is free.

    Raises:
        UsageError: the port is taken.
    """

    def __init__(self, port: int) -> None:
        try:
            host = os.environ.get("BRANDCTL_CALLBACK_HOST") or "127.0.0.1"
            self._server = _CallbackServer((host, port), _CallbackHandler)
        except OSError as error:
            raise UsageError(
                f"port {port} is taken: give another one with --port, as it is registered with the provider"
            ) from error

    @property
    def redirect_uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{PATH}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()

    def wait(self, state: str) -> SignInCallback:
        """What the browser brings back.

        Raises:
            CommandError: the provider refused, or nobody came.
        """
        deadline = time.monotonic() + _WITHIN_SECONDS
        self._server.timeout = 1.0
        while self._server.query is None:
            if time.monotonic() > deadline:
                raise CommandError("Nobody came back within ten minutes; begin again.")
            self._server.handle_request()
        return read(self._server.query, state)


def pasted(state: str) -> SignInCallback:
    """What stands in the address that a browser ended at, which somebody pastes.

    Raises:
        CommandError: it is no such address, or the provider refused.
    """
    address = str(typer.prompt("The address that your browser was sent to", err=True)).strip()
    return read(urlsplit(address).query, state)


def read(query: str, state: str) -> SignInCallback:
    """What a query says.

    Raises:
        CommandError: the provider refused, it is of another log-in, or there is no code.
    """
    found = {name: values[0] for name, values in parse_qs(query).items()}
    if "error" in found:
        why = found.get("error_description") or found["error"]
        raise CommandError(f"The provider refused: {why[:300]}")
    if found.get("state") != state:
        raise CommandError("This address is of another log-in: begin again, and use the newest one.")
    if not found.get("code"):
        raise CommandError(
            "There is no code in this address: paste the whole of it, with what is behind the ?."
        )
    return SignInCallback(found["code"], state)


class _CallbackServer(HTTPServer):
    query: str | None = None


class _CallbackHandler(BaseHTTPRequestHandler):
    server: _CallbackServer

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path != PATH:
            self.send_error(404)
            return
        self.server.query = address.query
        said = "The provider refused." if "error=" in address.query else "You are logged in."
        body = (
            f"<!doctype html><title>Brand Engine</title><p>{escape(said)} You can close this window.".encode()
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        # The address has the code in it.
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: the address has the code in it."""
