"""The cookie of a session: not for scripts, and with the strictest name that its path allows."""

from starlette.requests import Request
from starlette.responses import Response

from console.urls import ConsoleUrls


def name(urls: ConsoleUrls) -> str:
    return "__Host-console" if urls.is_secure and not urls.prefix else "console_session"


def read(request: Request, urls: ConsoleUrls) -> str | None:
    return request.cookies.get(name(urls)) or None


def write(response: Response, urls: ConsoleUrls, token: str) -> None:
    response.set_cookie(
        name(urls), token, path=urls.prefix or "/", secure=urls.is_secure, httponly=True, samesite="lax"
    )


def clear(response: Response, urls: ConsoleUrls) -> None:
    response.delete_cookie(
        name(urls), path=urls.prefix or "/", secure=urls.is_secure, httponly=True, samesite="lax"
    )
