"""The account that a browser is logging in at a network, until the network sends it back. It holds nothing secret."""

from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import Response

from console.urls import ConsoleUrls

_COOKIE: Final = "console_account_login"
_SECONDS: Final = 600
"""As long as the gateway waits for the end of a log-in."""


@dataclass(frozen=True, slots=True)
class PendingLogin:
    brand: str
    kind: str
    name: str

    @classmethod
    def read(cls, request: Request) -> Self | None:
        """Returns the log-in that this browser began last; None: none, or too long ago."""
        found = {name: each[0] for name, each in parse_qs(request.cookies.get(_COOKIE, "")).items()}
        try:
            return cls(found["brand"], found["kind"], found["name"])
        except KeyError:
            return None

    def write(self, response: Response, urls: ConsoleUrls) -> None:
        value = urlencode({"brand": self.brand, "kind": self.kind, "name": self.name})
        response.set_cookie(
            _COOKIE,
            value,
            max_age=_SECONDS,
            path=urls.prefix or "/",
            secure=urls.is_secure,
            httponly=True,
            samesite="lax",
        )
