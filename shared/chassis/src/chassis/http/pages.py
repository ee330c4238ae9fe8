"""What public pages and read-only answers have in common: conditional requests, and headers that keep browsers safe."""

import hashlib
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Pages are text, one stylesheet and one icon of their own; whatever a text may smuggle in finds nothing to load.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SecurityHeaders:
    """ASGI middleware that puts `SECURITY_HEADERS` on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def respond(
    request: Request,
    body: str | bytes,
    *,
    media_type: str,
    last_modified: datetime | None = None,
    cache_control: str,
) -> Response:
    """200 with the body, or 304 without it if the client has it already (RFC 9110, section 13)."""
    content = body.encode() if isinstance(body, str) else body
    # Weak, because the same page may travel compressed or not.
    etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": cache_control}
    if last_modified is not None:
        last_modified = last_modified.astimezone(UTC).replace(microsecond=0)
        headers["Last-Modified"] = format_datetime(last_modified, usegmt=True)
    if _is_fresh(request, etag, last_modified):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def _is_fresh(request: Request, etag: str, last_modified: datetime | None) -> bool:
    # A client that sends an entity tag is judged by it alone: dates have a resolution of a second.
    if (tags := request.headers.get("if-none-match")) is not None:
        known = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
        return "*" in known or etag.removeprefix("W/") in known
    since = request.headers.get("if-modified-since")
    if since is None or last_modified is None:
        return False
    try:
        moment = parsedate_to_datetime(since)
    except ValueError:
        return False
    return last_modified <= (moment if moment.tzinfo else moment.replace(tzinfo=UTC))
