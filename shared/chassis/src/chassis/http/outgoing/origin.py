"""Sends requests to one origin over reused connections."""

import json
import os
import ssl
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final
from urllib.parse import quote, urlsplit

import certifi
import httpcore2

from chassis.http.outgoing.streams import AsyncioConnections

_KEEPALIVE_SECONDS: Final = 2.0
"""Idle connections close after this, before the server (5 seconds or more) can close one under a request."""
_IN_PATHS: Final = "/?&=%:;,@+$!*'()"
"""Characters of a path with query that stay unquoted, besides letters and digits."""

NOT_CONNECTED: Final = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.UnsupportedProtocol)
"""Errors before any byte has reached the server."""
BROKEN: Final = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError)
"""Errors after which the server may have processed the request."""


class Origin:
    """A client for one origin; one per process.

    It reads only the trusted certificates from the environment, follows no redirects, and never retries.

    Args:
        url: base of the request paths.
        headers: headers of every request, besides `Host`.
        connect_seconds: time limit for connecting; the caller bounds the rest.

    Raises:
        ValueError: it is not a URL.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, connect_seconds: float) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        self._scheme = parts.scheme.lower()
        self._host = parts.hostname or ""
        self._port = parts.port
        self._prefix = parts.path
        self._headers = _encoded({"Host": parts.netloc.rpartition("@")[2], **headers})
        self._extensions = {"timeout": {"connect": connect_seconds}}
        self._pool = httpcore2.AsyncConnectionPool(
            # Certificates of all authorities take a megabyte: for nothing where none is shown.
            ssl_context=_trusted() if self._scheme == "https" else None,
            max_connections=None,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=AsyncioConnections(),
        )

    async def aclose(self) -> None:
        await self._pool.aclose()

    def sent(
        self, method: str, path: str, headers: Mapping[str, str], document: Mapping[str, Any] | None = None
    ) -> AbstractAsyncContextManager[httpcore2.Response]:
        """Send a request; the response stays open for the block.

        Args:
            method: GET, POST, …
            path: path with query, `/v1/content?id=5`.
            headers: further headers of this request.
            document: JSON body.

        Raises:
            NOT_CONNECTED, BROKEN: the errors in those tuples, on entering and while the body is read.
            ValueError: the document cannot be written as JSON.
        """
        as_json = {} if document is None else {"Content-Type": "application/json"}
        target = quote(f"{self._prefix}{path}", safe=_IN_PATHS).encode()
        return self._pool.stream(
            method,
            httpcore2.URL(scheme=self._scheme, host=self._host, port=self._port, target=target),
            headers=[*self._headers, *_encoded(headers), *_encoded(as_json)],
            content=None if document is None else _encoded_json(document),
            extensions=self._extensions,
        )


def header(response: httpcore2.Response, name: bytes) -> str | None:
    """Return the first header with this lower-case name, None without one."""
    for given, value in response.headers:
        if given.lower() == name:
            return value.decode("latin-1")
    return None


def _encoded_json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


def _trusted() -> ssl.SSLContext:
    """Return a TLS context with the certificates in OpenSSL's variables, or else those that browsers trust."""
    return ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE")
        or (None if os.environ.get("SSL_CERT_DIR") else certifi.where()),
        capath=os.environ.get("SSL_CERT_DIR") or None,
    )
