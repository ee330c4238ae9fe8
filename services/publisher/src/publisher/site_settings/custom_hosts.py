"""Serves brands' sites under hosts of their own."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis import DatabaseUnavailableError
from publisher.domain import BrandSlug, PageSlug
from publisher.replica import PageDatabase
from publisher.site_settings import store
from publisher.site_settings.store import is_public_host
from publisher.urls import TAKEN, SiteUrls

KNOWN_FOR_SECONDS: Final = 5.0
"""Longest delay until another replica's change takes effect."""
URLS: Final = "publisher.urls"
"""The key of the visitor's addresses (`SiteUrls`) in a request's scope."""
_ASSETS: Final = "/assets/"
_NEVER: Final = float("-inf")


class CustomHosts:
    """The hosts that brands have set for their sites, read again every five seconds."""

    def __init__(
        self, database: PageDatabase, urls: SiteUrls, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._urls = urls
        self._clock = clock
        self._known: dict[str, tuple[BrandSlug, str]] = {}
        self._known_until = _NEVER
        self._reading = asyncio.Lock()

    async def site_at(self, scope: Scope) -> tuple[BrandSlug, str] | None:
        """The brand with a site at the request's host, and the site's origin; None for other hosts.

        Raises:
            DatabaseUnavailableError: the database is away, and no hosts have been read yet.
        """
        host = _host(Headers(scope=scope).get("host", ""))
        # Probes and other services use internal names, and must not wait for the database.
        if host == _host(self._urls.origin.partition("//")[2]) or not is_public_host(host.partition(":")[0]):
            return None
        if self._clock() >= self._known_until:
            async with self._reading:
                if self._clock() >= self._known_until:
                    await self._read()
        return self._known.get(host)

    async def _read(self) -> None:
        try:
            async with self._database.connection() as connection:
                self._known = await store.addresses(connection)
        except DatabaseUnavailableError:
            if self._known_until == _NEVER:
                raise
            return  # the last known hosts stay in use
        self._known_until = self._clock() + KNOWN_FOR_SECONDS


class CustomHostMiddleware:
    """ASGI middleware: under a brand's own host, serves its site at the root, and nothing else.

    Under any other host, `urls` applies. `unavailable` answers while the hosts are unknown because the database is away.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        database: PageDatabase,
        urls: SiteUrls,
        unavailable: Callable[[Request, Exception], Awaitable[Response]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._urls = urls
        self._unavailable = unavailable
        self._hosts = CustomHosts(database, urls, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        scope[URLS] = self._urls
        if path.startswith(_ASSETS):
            await self._app(scope, receive, send)
            return
        try:
            found = await self._hosts.site_at(scope)
        except DatabaseUnavailableError as error:
            await (await self._unavailable(Request(scope), error))(scope, receive, send)
            return
        if found is None:
            await self._app(scope, receive, send)
            return
        brand, origin = found
        urls = self._urls.at(brand, origin)
        shared = f"/sites/{brand}/"
        if path.startswith(shared):
            # An old address of the site; redirecting to its own host is safe.
            rest = path.removeprefix(shared).lstrip("/\\")
            address = urls.article(brand, PageSlug(rest)) if rest in TAKEN else f"/{rest}"
            await RedirectResponse(address, 308)(scope, receive, send)
            return
        # Changes the scope in place, so that metrics see the matched route.
        scope.update({"path": shared + path.removeprefix("/"), URLS: urls})
        await self._app(scope, receive, send)


def _host(text: str) -> str:
    """The host in lower case, without a default port or final dot."""
    host, _, port = text.lower().partition(":")
    host = host.rstrip(".")
    return host if port in {"", "80", "443"} else f"{host}:{port}"
