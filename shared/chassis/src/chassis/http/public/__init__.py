"""Pages without a sign-in: addresses, headers that keep browsers safe, stylesheet and icon. `rendering` takes `chassis[pages]`."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Final, Self
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from chassis.http.conditional import respond


@dataclass(frozen=True, slots=True)
class PublicUrls:
    """Addresses of public pages; a service adds its own in a subclass.

    Paths start with the path of PUBLIC_URL, as a proxy may serve the site below one.
    """

    origin: str
    """`https://example.org`"""
    prefix: str
    """Empty, or `/news`."""

    @classmethod
    def under(cls, public_url: str) -> Self:
        parts = urlsplit(public_url)
        # A user's name and password are for whoever configured them, not for every visitor.
        return cls(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.rstrip("/"))

    def absolute(self, path: str) -> str:
        return self.origin + path

    @property
    def root(self) -> str:
        return f"{self.prefix}/"

    def asset(self, name: str) -> str:
        return f"{self.prefix}/assets/{name}"


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

_SHARED: Final = "look.css"
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_SPACE: Final = re.compile(r" ?([{};]) ?")
"""The part of every stylesheet that all pages of ours have in common."""
_ICON: Final = "favicon.svg"
_FOR_EVER: Final = "public, max-age=31536000, immutable"


class Assets:
    """The files of a package's folder `assets`: `favicon.svg`, and the stylesheet, served with the shared part before it.

    `otherwise` is the Cache-Control of a file that was asked for without its version, or with an old one.
    """

    def __init__(self, package: str, stylesheet: str, *, otherwise: str) -> None:
        self._package = package
        self._otherwise = otherwise
        self.stylesheet = stylesheet

    @cached_property
    def texts(self) -> dict[str, str]:
        """By name, as they are served."""
        style = _read("chassis.http.public", _SHARED) + "\n" + _read(self._package, self.stylesheet)
        return {self.stylesheet: _short(style), _ICON: _read(self._package, _ICON)}

    def version(self, name: str) -> str:
        """Changes with the text, so that browsers may keep each version for ever."""
        return hashlib.sha256(self.texts[name].encode()).hexdigest()[:12]

    async def serve(self, request: Request) -> Response:
        """For the route `/assets/{name}`."""
        name = request.path_params["name"]
        if name not in self.texts:
            raise HTTPException(404)
        current = request.query_params.get("v") == self.version(name)
        return respond(
            request,
            self.texts[name],
            media_type="image/svg+xml" if name == _ICON else "text/css; charset=utf-8",
            cache_control=_FOR_EVER if current else self._otherwise,
        )


def _short(style: str) -> str:
    """A stylesheet without comments and indentation."""
    return _SPACE.sub(r"\1", " ".join(_COMMENT.sub("", style).split()))


def _read(package: str, name: str) -> str:
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")
