"""Requests to one place, over connections that are used again."""

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
"""Connections are let go before the other side, which closes idle ones after 5 or more, can close one under a request."""
_IN_PATHS: Final = "/?&=%:;,@+$!*'()"
"""What stays as it is in a path with its query, apart from letters and digits."""

NOT_CONNECTED: Final = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.UnsupportedProtocol)
"""Raised where not a byte has reached the other side."""
BROKEN: Final = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError)
"""Raised where it may have taken the request."""


class Origin:
    """Where something is asked; one for the life of the process.

    Nothing is read from the environment but whose certificates are trusted, no redirect is followed, and nothing is tried again.

    Args:
        url: to which the paths of requests are added.
        headers: sent with every request, besides `Host`.
        connect_seconds: for a connection; the rest is for the caller to bound.

    Raises:
        ValueError: it is no URL.
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
        """The answer, for as long as its body is read.

        Args:
            method: GET, POST, …
            path: with its query, `/v1/content?id=5`.
            headers: of this request alone.
            document: sent as JSON.

        Raises:
            NOT_CONNECTED, BROKEN: the errors of those names; on entering, and while the body is read.
            ValueError: there is no JSON for the document.
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
    """By its name in lower case; the first, if there are several."""
    for given, value in response.headers:
        if given.lower() == name:
            return value.decode("latin-1")
    return None


def _encoded_json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


def _trusted() -> ssl.SSLContext:
    """Those whom an operator names in the variables of OpenSSL, or else the authorities that browsers trust."""
    return ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE")
        or (None if os.environ.get("SSL_CERT_DIR") else certifi.where()),
        capath=os.environ.get("SSL_CERT_DIR") or None,
    )
