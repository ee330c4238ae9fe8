"""Security headers of every answer; an application's own values take precedence."""

from collections.abc import Mapping
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class SafeHeaders:
    """ASGI middleware: adds those of `headers` that an answer lacks to every answer, refusals and failures included."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str] = SAFE_HEADERS) -> None:
        self._app = app
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = list(message.get("headers", ()))
                names = {name for name, _ in said}
                message["headers"] = said + [each for each in self._headers if each[0] not in names]
            await send(message)

        await self._app(scope, receive, sending)
