"""Sign-ins at the provider that a browser has begun: each has a cookie of its own, so that tabs do not disturb each other.

The cookie ties the provider's answer to the browser that began, so that another person's code signs no one in.
"""

import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final, Self

from starlette.requests import Request
from starlette.responses import Response

from console.urls import HOME, ConsoleUrls, safe_next

_NAME: Final = "console_sign_in_"
_SECONDS: Final = 600
_MOST: Final = 8
"""Attempts of a browser at a time; beyond them the others are forgotten."""
_LONGEST_NEXT: Final = 1_000


class Purpose(StrEnum):
    SIGN_IN = "sign-in"
    ACCEPT = "accept"
    """An invitation."""
    CONFIRM = "confirm"
    """Before a grave act."""
    LINK = "link"
    """To sign in there, too, from then on."""


@dataclass(frozen=True, slots=True)
class Attempt:
    state: str
    verifier: str
    nonce: str
    issuer: str
    purpose: Purpose
    next_page: str = HOME
    invitation: str = ""
    """Token of the link."""
    person: str = ""
    """Id of the person who links their account."""

    @classmethod
    def begin(
        cls,
        issuer: str,
        purpose: Purpose,
        *,
        next_page: str = HOME,
        invitation: str = "",
        person: str = "",
    ) -> Self:
        fits = len(next_page) <= _LONGEST_NEXT
        return cls(
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(48),
            secrets.token_urlsafe(32),
            issuer,
            purpose,
            safe_next(next_page) if fits else HOME,
            invitation,
            person,
        )

    @classmethod
    def read(cls, request: Request, urls: ConsoleUrls, state: str) -> Self | None:
        """Returns what this browser began; None: nothing, or too long ago."""
        try:
            value = request.cookies[_cookie(urls, state)]
            found = cls(**json.loads(urlsafe_b64decode(value)))
            purpose = Purpose(found.purpose)
        except (KeyError, ValueError, TypeError):
            return None
        if not all(isinstance(each, str) for each in asdict(found).values()):
            return None
        if not secrets.compare_digest(found.state.encode(), state.encode()):
            return None
        fields = asdict(found) | {"purpose": purpose, "next_page": safe_next(found.next_page)}
        return cls(**fields)

    @property
    def challenge(self) -> str:
        """Of RFC 7636."""
        hashed = hashlib.sha256(self.verifier.encode()).digest()
        return urlsafe_b64encode(hashed).decode().rstrip("=")

    def write(self, request: Request, response: Response, urls: ConsoleUrls) -> None:
        others = [name for name in request.cookies if name.startswith(_prefix(urls))]
        if len(others) >= _MOST:
            for name in others:
                _delete(response, urls, name)
        response.set_cookie(
            _cookie(urls, self.state),
            urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode(),
            max_age=_SECONDS,
            path=urls.prefix or "/",
            secure=urls.is_secure,
            httponly=True,
            samesite="lax",
        )


def forget(response: Response, urls: ConsoleUrls, state: str) -> None:
    _delete(response, urls, _cookie(urls, state))


def _delete(response: Response, urls: ConsoleUrls, name: str) -> None:
    response.delete_cookie(
        name, path=urls.prefix or "/", secure=urls.is_secure, httponly=True, samesite="lax"
    )


def _prefix(urls: ConsoleUrls) -> str:
    return f"__Host-{_NAME}" if urls.is_secure and not urls.prefix else _NAME


def _cookie(urls: ConsoleUrls, state: str) -> str:
    # A hash, as the state comes from the address.
    return _prefix(urls) + hashlib.sha256(state.encode()).hexdigest()[:16]
