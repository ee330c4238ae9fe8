"""ASGI middleware for all pages: refuses forged requests, sets security headers, takes off the path of CONSOLE_URL."""

from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console.urls import ConsoleUrls

_OF_PROGRAMS: Final = ("/v1", "/docs", "/openapi.json", "/mcp")
_CHANGES_NOTHING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CONTENT_SECURITY_POLICY: Final = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer", with which forms send `Origin: null`.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_of_api(path: str) -> bool:
    """Returns whether programs ask for the path, with a key, rather than people with a browser."""
    return any(path == each or path.startswith(f"{each}/") for each in _OF_PROGRAMS)


def is_forged(headers: Headers, urls: ConsoleUrls) -> bool:
    """Returns whether a request that changes something comes from another site's page.

    Browsers send Sec-Fetch-Site over HTTPS and to localhost, and Origin with every POST.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = headers.get("origin")
    if origin is None:
        return True
    return origin != urls.origin and urlsplit(origin).netloc != headers.get("host", "")


class PageGuard:
    """Wraps the whole application; the service's API is left alone, as its key is not sent by browsers."""

    def __init__(self, app: ASGIApp, urls: ConsoleUrls) -> None:
        self._app = app
        self._urls = urls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        prefix = self._urls.prefix
        if prefix and (scope["path"] == prefix or scope["path"].startswith(f"{prefix}/")):
            scope = {**scope, "path": scope["path"][len(prefix) :] or "/"}
        if is_of_api(scope["path"]):
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        if scope["method"] not in _CHANGES_NOTHING and is_forged(Headers(scope=scope), self._urls):
            refusal = PlainTextResponse(
                "This request came from another site, so nothing was done. Open the console and try again there.",
                HTTPStatus.FORBIDDEN,
            )
            await refusal(scope, receive, sending)
            return
        await self._app(scope, receive, sending)
