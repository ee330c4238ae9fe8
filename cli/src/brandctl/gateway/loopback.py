"""Receives the result of a log-in at a provider: by a loopback listener (RFC 8252, section 7.3), or a pasted address."""

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
"""The gateway keeps a log-in for as long."""


@dataclass(frozen=True, slots=True)
class SignInCallback:
    """The code and the state that a provider sends with the redirect."""

    code: str
    state: str


class LoopbackListener:
    """Listens on this machine alone; use it as a context manager.

    In a container, `BRANDCTL_CALLBACK_HOST` names the address to listen on; a port of the machine's 127.0.0.1 leads there.

    Args:
        port: 0: any free port.

    Raises:
        UsageError: the port is taken.
    """

    def __init__(self, port: int) -> None:
        try:
            host = os.environ.get("BRANDCTL_CALLBACK_HOST") or "127.0.0.1"
            self._server = _CallbackServer((host, port), _CallbackHandler)
        except OSError as error:
            raise UsageError(
                f"port {port} is taken: give another one with --port, as registered with the provider"
            ) from error

    @property
    def redirect_uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{PATH}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()

    def wait(self, state: str) -> SignInCallback:
        """Waits for the browser's redirect and returns its contents.

        Raises:
            CommandError: the provider refused, or no browser came in time.
        """
        deadline = time.monotonic() + _WITHIN_SECONDS
        self._server.timeout = 1.0
        while self._server.query is None:
            if time.monotonic() > deadline:
                raise CommandError("The browser did not return within ten minutes; run the command again.")
            self._server.handle_request()
        return read(self._server.query, state)


def pasted(state: str) -> SignInCallback:
    """Asks for the address that the browser ended at and returns its contents.

    Raises:
        CommandError: the address has no code, or the provider refused.
    """
    address = str(typer.prompt("The address that your browser was sent to", err=True)).strip()
    return read(urlsplit(address).query, state)


def read(query: str, state: str) -> SignInCallback:
    """Parses the query of a redirect.

    Raises:
        CommandError: the provider refused, the query belongs to another log-in, or has no code.
    """
    found = {name: values[0] for name, values in parse_qs(query).items()}
    if "error" in found:
        why = found.get("error_description") or found["error"]
        raise CommandError(f"The provider refused: {why[:300]}")
    if found.get("state") != state:
        raise CommandError(
            "This address belongs to another log-in: run the command again and use the newest address."
        )
    if not found.get("code"):
        raise CommandError("This address has no code: paste all of it, including the part after the “?”.")
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
        # The address contains the code.
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Logs nothing, since the address contains the code."""
